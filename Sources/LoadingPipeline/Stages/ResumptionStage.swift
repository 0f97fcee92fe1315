internal import LoadingProtocols
package import LoadingSemantics

/// Has a download go on where another stopped (RES-3 to RES-7): asks for the rest, and sees from the answer whether the
/// rest is what comes.
struct ResumptionStage {
    let download: StoppedDownload
    /// The caller's own, which has no place in a request for the rest.
    private let acceptEncoding: String?
    private(set) var mayRestart = true

    private static let askingFields = ["accept-encoding", "range", "if-range"]

    init(_ download: StoppedDownload, _ request: inout LoadRequest) {
        self.download = download
        acceptEncoding = request.fields.firstValue("Accept-Encoding")
        ask(&request)
    }

    /// Has the request, or the one that a redirect has made of it, ask for the rest, unless all is asked for by now.
    func ask(_ request: inout LoadRequest) {
        guard mayRestart, download.point.asksForRest else { return }
        var point = download.point
        point.requestFields = request.fields.without(names: Self.askingFields)
        request.fields = point.resumedFields
    }

    func decide(_ head: ResponseHead) -> ResumeDecision {
        ResumeRules.decide(status: head.status, fields: head.fields, of: download.point, mayRestart: mayRestart)
    }

    /// From now on all is asked for.
    mutating func restart(_ request: inout LoadRequest) {
        mayRestart = false
        // Not the fields from the beginning: a redirect may have taken some off since.
        request.fields = request.fields.without(names: Self.askingFields)
        if let acceptEncoding { request.fields.append("Accept-Encoding", acceptEncoding) }
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
