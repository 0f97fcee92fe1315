internal import LoadingProtocols
package import LoadingSemantics

/// Has a download go on where another stopped (RES-3 to RES-7): asks for the rest, and sees from the answer whether the
/// rest is what comes.
struct ResumptionStage {
    let download: StoppedDownload
    /// Those of the request without what asks for the rest.
    private let plainFields: HTTPFields
    private var mayRestart = true

    /// Changes the request so that it asks for the rest.
    init(_ download: StoppedDownload, _ request: inout LoadRequest) {
        self.download = download
        plainFields = request.fields
        var fields = download.point.resumedFields
        for index in 0..<plainFields.count where !fields.contains(plainFields.name(at: index)) {
            fields.append(plainFields.name(at: index), plainFields.value(at: index))
        }
        request.fields = fields
    }

    func decide(_ head: HTTP1ResponseHead) -> ResumeDecision {
        ResumeRules.decide(status: head.status, fields: head.fields, of: download.point, mayRestart: mayRestart)
    }

    /// From now on all is asked for.
    mutating func restart(_ request: inout LoadRequest) {
        mayRestart = false
        request.fields = plainFields
    }
}

/// What is left of a download that stopped.
package struct StoppedDownload: Sendable {
    package var point: DownloadResumePoint
    /// Of the file with what has come.
    package var path: String

    package init(point: DownloadResumePoint, path: String) {
        self.point = point
        self.path = path
    }
}
