internal import LoadingConnections
internal import LoadingProtocols
package import LoadingSemantics
package import LoadingTransport

/// Has an upload go on after its connection was lost, if the server offers that (RES-13 to RES-21): does what the value
/// `ResumableUpload` says, one request after the other, of which the client hears nothing. Confined to the load's loop.
final class UploadResumptionStage: LoopTimerTarget {
    /// The task's own request.
    private var original: LoadRequest
    /// Where the body was sent at first; after a redirect not where the task's own request went.
    private var target: HTTPURL
    /// Nil until the length of the body is known.
    private var upload: ResumableUpload?
    /// What the file was like when the upload began.
    private var file: FileFacts?
    private var knowsLength = false
    /// What the request that begins the upload says of it.
    private var creationFields = HTTPFields()
    /// Which part of the body the request at hand carries.
    private(set) var part = BodyStage.Part()
    /// Whether the request at hand carries any of it.
    private var carriesBody = true
    /// Whether the request at hand is not the task's own, but one that the upload goes on with.
    private(set) var isFollowUp = false
    /// Whether any of those was made: from then on the body has to stay what it was.
    private var hasGoneOn = false
    /// How many bytes of the body the request at hand has sent.
    var sentBytes: Int64 = 0
    /// Whether the client is being asked about another origin.
    var isAskingToMove = false
    private let timer = LoopTimer()
    private var afterPause: (() -> Void)?

    /// - Parameter stopped: The upload of another task that this one goes on with.
    init(_ request: LoadRequest, goingOn stopped: StoppedUpload?) {
        original = request
        target = request.url
        guard let stopped else { return }
        upload = ResumableUpload(resuming: stopped.point)
        file = stopped.file
        knowsLength = stopped.point.length != nil
        hasGoneOn = true
    }

    /// The request that begins, when it is not the task's own.
    func start() throws(LoadError) -> LoadRequest? {
        guard hasGoneOn, let first = upload?.start() else { return nil }
        return try request(for: first)
    }

    /// A request goes to https and not to where it said. If it is the task's own, and not what a redirect has made of it,
    /// so does what follows it.
    func isUpgraded(to request: LoadRequest) {
        guard !hasGoneOn, request.urlText == SecureURL.upgrade(original.urlText, port: original.url.port) else {
            return
        }
        original.url = request.url
        original.urlText = request.urlText
    }

    // MARK: What goes out

    /// A body is about to be sent, all of it or the part of it that was wanted.
    func willSend(_ length: Int64?, of file: FileFacts?) throws(LoadError) {
        guard !hasGoneOn else {
            // Two halves of different files are no file (RES-13).
            if let before = self.file, file != before { throw .requestBodyStreamExhausted }
            return
        }
        self.file = file
        knowsLength = length != nil
        var upload = ResumableUpload(
            method: original.method, url: original.urlText, fields: original.fields, length: length)
        creationFields = upload.start().fields.without(original.fields)
        self.upload = upload
    }

    /// Adds to the task's own request, which goes to `url`, what offers to go on with it.
    func mark(_ exchange: inout ExchangeRequest, to url: HTTPURL) {
        guard !isFollowUp else { return }
        target = url
        for index in 0..<creationFields.count {
            exchange.fields.append(creationFields.name(at: index), creationFields.value(at: index))
        }
    }

    /// The request has been sent, with so many bytes of body.
    func sentRequest(_ count: Int64) {
        guard !knowsLength, carriesBody, part.length.map({ count < $0 }) ?? true else { return }
        upload?.bodyEnded(at: part.offset &+ count)
        knowsLength = true
    }

    /// A request of the upload, as a load's.
    func request(for next: UploadRequest) throws(LoadError) -> LoadRequest {
        isFollowUp = next.purpose != .creation
        hasGoneOn = true
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

    // MARK: What comes of it

    func received104(_ fields: HTTPFields, from url: String) -> UploadStep? {
        upload?.received104(fields, from: url)
    }

    /// What would go to another origin.
    func proposal(to url: String) -> LoadRequest? { upload.flatMap { try? followUp($0.proposal(to: url)) } }

    func move(to url: String) { upload?.move(to: url) }

    /// Tells how much of its body the request has sent that ends.
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

    /// What another task can go on with.
    var stopped: StoppedUpload? {
        upload?.resumePoint.map { StoppedUpload(point: $0, file: file) }
    }

    /// What the final response says to be out of date: what it would have, had it answered the first request, and what it
    /// says of its own (CACHE-19).
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

    func pause(_ seconds: Int, on loop: EventLoop, _ goOn: @escaping () -> Void) {
        afterPause = goOn
        loop.arm(timer, at: loop.now &+ TimeLimits.seconds(Int64(seconds)), for: self)
    }

    func timerFired(_ timer: LoopTimer) {
        let goOn = afterPause
        afterPause = nil
        goOn?()
    }

    func end(on loop: EventLoop) {
        afterPause = nil
        loop.disarm(timer)
    }
}

/// What is left of an upload that stopped.
package struct StoppedUpload: Sendable {
    package var point: UploadResumePoint
    /// What the file was like that was sent; nil if it was none.
    package var file: FileFacts?

    package init(point: UploadResumePoint, file: FileFacts?) {
        self.point = point
        self.file = file
    }
}
