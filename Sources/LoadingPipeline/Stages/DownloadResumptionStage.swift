internal import LoadingProtocols
package import LoadingSemantics

/// Resumes a stopped download (RES-3 to RES-7): requests the rest of the body, and decides from the response whether
/// the rest follows. An object, because nearly no load has one.
final class DownloadResumptionStage {
    let download: StoppedDownload
    /// The caller's own `Accept-Encoding`, which a request for the rest must not contain.
    private let acceptEncoding: String?
    private(set) var mayRestart = true
    /// The length of the rest, from `Content-Range`; nil if the whole body follows. A response without `Content-Length`
    /// does not show otherwise whether its body is complete.
    private var rest: Int64?

    private static let askingFields = ["accept-encoding", "range", "if-range"]

    init(_ download: StoppedDownload, _ request: inout LoadRequest) {
        self.download = download
        acceptEncoding = request.fields.firstValue("Accept-Encoding")
        ask(&request)
    }

    /// Adds the range fields to the request, or to a redirected one, unless the whole body is requested by now.
    func ask(_ request: inout LoadRequest) {
        guard mayRestart, download.point.asksForRest else { return }
        var point = download.point
        point.requestFields = request.fields.without(names: Self.askingFields)
        request.fields = point.resumedFields
    }

    func decide(_ head: ResponseHead) -> ResumeDecision {
        let decision = ResumeRules.decide(
            status: head.status, fields: head.fields, of: download.point, mayRestart: mayRestart)
        rest = if case .append(_, let length, _) = decision { length } else { nil }
        return decision
    }

    /// The error of a body that ends after so many bytes; nil if it is complete.
    func error(after count: Int64) -> LoadError? {
        guard let rest, count != rest else { return nil }
        return count < rest ? .networkConnectionLost : .badServerResponse("The body is longer than its range")
    }

    /// Requests the whole body from now on.
    func restart(_ request: inout LoadRequest) {
        mayRestart = false
        // The original fields are not restored, because a redirect may have removed some since.
        request.fields = request.fields.without(names: Self.askingFields)
        if let acceptEncoding { request.fields.append("Accept-Encoding", acceptEncoding) }
    }
}

/// The remains of a stopped download.
package struct StoppedDownload: Sendable {
    package var point: DownloadResumePoint
    /// The path of the file with the bytes received so far.
    package var path: String

    package init(point: DownloadResumePoint, path: String) {
        self.point = point
        self.path = path
    }
}
