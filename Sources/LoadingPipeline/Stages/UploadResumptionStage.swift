internal import LoadingConnections
internal import LoadingProtocols
package import LoadingSemantics
package import LoadingTransport

/// Resumes an upload after its connection was lost, if the server supports that (RES-13 to RES-21). Sends the requests
/// that the value `ResumableUpload` returns, one after the other, without notifying the client. Confined to the load's
/// loop.
final class UploadResumptionStage: LoopTimerTarget {
    /// The task's own request.
    private var original: LoadRequest
    /// The URL to which the body was sent first. After a redirect it differs from the URL of the task's own request.
    private var target: HTTPURL
    /// Nil until the length of the body is known.
    private var upload: ResumableUpload?
    /// The facts of the file when the upload began.
    private var file: FileFacts?
    private var knowsLength = false
    /// The fields of the request that creates the upload.
    private var creationFields = HTTPFields()
    /// The part of the body that the current request carries.
    private(set) var part = BodyStage.Part()
    /// Whether the current request carries any part of the body.
    private var carriesBody = true
    /// Whether the current request is a follow-up request of the upload instead of the task's own.
    private(set) var isFollowUp = false
    /// Whether a follow-up request was made. From then on the body must not change.
    private(set) var hasMadeFollowUp = false
    /// How many bytes of the body the current request has sent.
    var sentBytes: Int64 = 0
    /// Whether the client is being asked about another origin.
    var isAskingToMove = false
    private let timer = LoopTimer()
    private var afterPause: (() -> Void)?

    /// - Parameter stopped: The upload of another task that this one resumes.
    init(_ request: LoadRequest, resuming stopped: StoppedUpload?) {
        original = request
        target = request.url
        guard let stopped else { return }
        upload = ResumableUpload(resuming: stopped.point, fields: request.fields, of: request.urlText)
        file = stopped.file
        knowsLength = stopped.point.length != nil
        hasMadeFollowUp = true
    }

    /// The first request, if it is not the task's own.
    func start() throws(LoadError) -> LoadRequest? {
        guard hasMadeFollowUp, let first = upload?.start() else { return nil }
        return try request(for: first)
    }

    /// The request was upgraded to `https`. If it is the task's own request, and not a redirected one, the follow-up
    /// requests use `https` too.
    func isUpgraded(to request: LoadRequest) {
        guard !hasMadeFollowUp, request.urlText == SecureURL.upgrade(original.urlText, port: original.url.port) else {
            return
        }
        original.url = request.url
        original.urlText = request.urlText
    }

    // MARK: Requests

    /// Called before a body is sent, all of it or the current part.
    ///
    /// - Parameter request: The request with the body. After a redirect it lacks the fields that do not go to its
    ///   target, and neither do they go there with the follow-up requests.
    func willSend(_ length: Int64?, of file: FileFacts?, with request: LoadRequest) throws(LoadError) {
        guard !hasMadeFollowUp else {
            // Two halves of different files do not make a valid upload (RES-13).
            if let before = self.file, file != before { throw .requestBodyStreamExhausted }
            return
        }
        self.file = file
        knowsLength = length != nil
        var upload = ResumableUpload(
            method: original.method, url: original.urlText, fields: request.fields, of: request.urlText, length: length)
        creationFields = upload.start().fields.without(namesOf: request.fields)
        self.upload = upload
    }

    /// Adds the fields that offer resumption to the task's own request, which goes to `url`.
    func mark(_ exchange: inout ExchangeRequest, to url: HTTPURL) {
        guard !isFollowUp else { return }
        target = url
        for index in 0..<creationFields.count {
            exchange.fields.append(creationFields.name(at: index), creationFields.value(at: index))
        }
    }

    /// The request has been sent, with this many bytes of body.
    func sentRequest(_ count: Int64) {
        guard !knowsLength, carriesBody, part.length.map({ count < $0 }) ?? true else { return }
        upload?.bodyEnded(at: part.offset &+ count)
        knowsLength = true
    }

    /// The load request for a request of the upload.
    func request(for next: UploadRequest) throws(LoadError) -> LoadRequest {
        isFollowUp = next.purpose != .creation
        hasMadeFollowUp = true
        // An upload of another task is created anew. That other task has sent the first request.
        if !isFollowUp, creationFields.isEmpty { creationFields = next.fields.without(namesOf: original.fields) }
        sentBytes = 0
        var request = isFollowUp ? try followUp(next) : original
        carriesBody = next.body != nil
        if !carriesBody { request.body = .none }
        part = BodyStage.Part(offset: next.body?.offset ?? 0, length: next.body?.length)
        return request
    }

    private func followUp(_ next: UploadRequest) throws(LoadError) -> LoadRequest {
        var request = original
        do { request.url = try HTTPURL(next.url) } catch { throw error.loadError }
        request.urlText = next.url
        request.method = next.method
        request.fields = next.fields
        return request
    }

    // MARK: Outcomes

    func received104(_ fields: HTTPFields, from url: String) -> UploadStep? {
        upload?.received104(fields, from: url)
    }

    /// The request that would go to another origin.
    func proposal(to url: String) -> LoadRequest? { upload.flatMap { try? followUp($0.proposal(to: url)) } }

    func move(to url: String, without names: [String]) { upload?.move(to: url, without: names) }

    /// Records how much of its body the ending request has sent.
    private func noteSent() {
        if carriesBody { upload?.sentBody(sentBytes) }
        sentBytes = 0
    }

    func received(_ head: ResponseHead) -> UploadStep {
        noteSent()
        return upload?.received(status: head.status, fields: head.fields) ?? .deliver
    }

    func interrupted() -> UploadStep {
        noteSent()
        return upload?.interrupted() ?? .giveUp
    }

    /// The state with which another task can resume.
    var stopped: StoppedUpload? {
        upload?.resumePoint.map { StoppedUpload(point: $0, file: file) }
    }

    /// The stored responses that the final response makes outdated: those as if it had answered the first request, and
    /// those of its own request (CACHE-19).
    func outdatedKeys(_ head: ResponseHead, to request: LoadRequest) -> [CacheKey] {
        guard isFollowUp else { return [] }
        return CacheInvalidation.keys(
            method: original.method, url: target, status: head.status, fields: HTTPFields(),
            partition: original.partition)
            + CacheInvalidation.keys(
                method: request.method, url: request.url, status: head.status, fields: head.fields,
                partition: original.partition)
    }

    // MARK: Pauses

    func pause(_ seconds: Int, on loop: EventLoop, _ resume: @escaping () -> Void) {
        afterPause = resume
        loop.arm(timer, at: loop.now &+ TimeLimits.seconds(Int64(seconds)), for: self)
    }

    func timerFired(_ timer: LoopTimer) {
        let resume = afterPause
        afterPause = nil
        resume?()
    }

    func end(on loop: EventLoop) {
        afterPause = nil
        loop.disarm(timer)
    }
}

/// The remains of a stopped upload.
package struct StoppedUpload: Sendable {
    package var point: UploadResumePoint
    /// The facts of the file that was sent; nil if the body was not a file.
    package var file: FileFacts?

    package init(point: UploadResumePoint, file: FileFacts?) {
        self.point = point
        self.file = file
    }
}
