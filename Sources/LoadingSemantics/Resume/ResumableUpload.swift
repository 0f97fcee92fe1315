/// An upload that goes on after its connection was lost, by draft-ietf-httpbis-resumable-upload (RES-13 to RES-21).
/// Owns no socket and no clock.
///
/// The caller's loop: send what `start` gives; pass on each 104 and the end of each request, be it a response or the
/// loss of the connection; do what the `UploadStep` says. As long as no 104 has come that offers to resume, this is an
/// upload like any other.
package struct ResumableUpload: Sendable, Equatable {
    private enum State: Sendable, Equatable {
        case idle
        case creating
        case retrieving
        case appending(offset: Int64, length: Int64?, isLast: Bool)
        /// The server has what it should not have, or wants less than there is.
        case failed
        case done
    }

    /// How often in a row the same is tried after an answer that says no, and how often an upload starts anew. A
    /// connection that is lost is no answer: that goes on as long as the task has time (RES-17).
    private static let maximumRefusals = 3
    /// A server, or a network, that makes use of little of what it is sent is given up after so many requests in a row of
    /// which less than half was kept, once so many times the length of the body was sent for nothing.
    private static let maximumPoorRequests = 64
    private static let maximumWaste: Int64 = 16

    private let method: String
    private let url: String
    private let fields: HTTPFields
    private var length: Int64?
    private var state = State.idle
    private var uploadURL: String?
    package private(set) var limits = UploadLimits()
    /// So many bytes the server has for certain.
    package private(set) var acknowledged: Int64 = 0
    /// Failures without a byte of progress between them.
    private var failures = 0
    /// Answers that said no, without a byte of progress between them.
    private var refusals = 0
    private var restarts = 0
    /// Whether it was asked whether the upload may go to another origin.
    private var hasAskedToMove = false
    /// What of the body the last request carried that carried some, until it is known what was kept of it.
    private var sent: Range<Int64>?
    /// Requests in a row of which less than half was kept, and the bytes that they were sent for nothing.
    private var poorRequests = 0
    private var wasted: Int64 = 0

    /// - Parameters:
    ///   - fields: Of the task's request.
    ///   - length: Of its body, or nil if unknown.
    package init(method: String, url: String, fields: HTTPFields, length: Int64?) {
        self.method = method
        self.url = url
        self.fields = fields
        self.length = length
    }

    /// Goes on with an upload of another task.
    package init(resuming point: UploadResumePoint) {
        self.init(method: point.method, url: point.url, fields: point.fields, length: point.length)
        uploadURL = point.uploadURL
        limits = point.limits
    }

    /// Whether the request of an upload task may become a resumable upload (RES-18): its method has a body, and its
    /// caller does not speak the protocol already.
    package static func isPossible(method: String, fields: HTTPFields) -> Bool {
        !["GET", "HEAD", "DELETE", "OPTIONS", "TRACE", "CONNECT"].contains(method)
            && !UploadFields.all.contains(where: fields.contains)
    }

    /// What it takes to go on later, or nil if the server has not offered it or the upload is over (RES-13).
    package var resumePoint: UploadResumePoint? {
        guard let uploadURL, state != .done, state != .failed else { return nil }
        return UploadResumePoint(
            method: method, url: URLReference.withoutUserinfo(url), fields: without(Self.secretFields, fields),
            length: length, uploadURL: uploadURL, limits: limits)
    }

    /// Tells the server to forget what it has, for an upload that nobody will resume (RES-16).
    package var cancellation: UploadRequest? {
        guard let uploadURL, state != .done else { return nil }
        return UploadRequest(
            purpose: .cancellation, method: "DELETE", url: uploadURL, fields: followUpFields(to: uploadURL), body: nil)
    }

    // MARK: What happens

    package mutating func start() -> UploadRequest {
        uploadURL == nil ? create() : retrieveOffset()
    }

    /// The body has turned out to end there. To be called before the request that carries the end is answered.
    package mutating func bodyEnded(at length: Int64) {
        self.length = max(length, 0)
    }

    /// So many bytes of the body of the request in work were sent. To be called before the request ends.
    package mutating func sentBody(_ count: Int64) {
        let start: Int64 = if case .appending(let offset, _, _) = state { offset } else { 0 }
        let (end, overflows) = start.addingReportingOverflow(max(count, 0))
        if count > 0, !overflows { sent = start..<end }
    }

    /// The upload may go on at another origin, where `askToMove` has asked for, if there is nothing else by now.
    package mutating func move(to url: String) {
        if case .creating = state, uploadURL == nil, Self.isHTTP(url) { uploadURL = url }
    }

    /// What would go to an upload resource at another origin.
    package func proposal(to url: String) -> UploadRequest {
        UploadRequest(purpose: .append, method: "PATCH", url: url, fields: followUpFields(to: url), body: nil)
    }

    /// A 104 has come (RES-14, RES-15). Where it names another origin the body would go there, of which only the client of
    /// the upload may decide.
    ///
    /// - Parameter url: Of the request it answers, after redirects.
    /// - Returns: Nil to go on.
    package mutating func received104(_ fields: HTTPFields, from url: String) -> UploadStep? {
        guard UploadFields.isOurVersion(fields) else { return nil }
        switch state {
        case .creating:
            // One upload resource a request. A second one would be a mistake of the server's.
            if uploadURL == nil, let location = fields.firstValue("Location"),
                let target = Self.uploadURL(location, from: url)
            {
                if Self.isSameOrigin(target, as: url) {
                    uploadURL = target
                } else if !hasAskedToMove {
                    hasAskedToMove = true
                    return takeLimits(fields) ?? .askToMove(target)
                }
            }
        case .appending:
            break
        case .idle, .retrieving, .failed, .done:
            return nil
        }
        if let offset = UploadFields.offset(in: fields) { acknowledge(offset) }
        return takeLimits(fields)
    }

    /// The final response to the request in work, after redirects and challenges.
    package mutating func received(status: Int, fields: HTTPFields) -> UploadStep {
        switch state {
        case .idle, .failed, .done: .deliver
        case .creating: created(status, fields)
        case .retrieving: retrieved(status, fields)
        case .appending(let offset, let length, let isLast): appended(status, fields, offset, length, isLast)
        }
    }

    /// The connection was lost before the response to the request in work (RES-17).
    package mutating func interrupted() -> UploadStep {
        guard uploadURL != nil, state != .done, state != .failed else { return over(.giveUp) }
        return retryLater()
    }

    // MARK: Responses

    private mutating func created(_ status: Int, _ fields: HTTPFields) -> UploadStep {
        let isComplete = UploadFields.isComplete(in: fields)
        guard uploadURL != nil, isComplete != true else { return over(.deliver) }
        if let step = takeLimits(fields) { return step }
        switch status {
        case 200..<300 where isComplete == false:
            // Part of it was enough for a first answer.
            return advance(to: UploadFields.offset(in: fields))
        case 413 where limits.maximumAppendSize.map({ $0 < length ?? .max }) == true:
            return refused()
        case 502, 503, 504:
            return refused()
        default:
            return over(.deliver)
        }
    }

    private mutating func retrieved(_ status: Int, _ fields: HTTPFields) -> UploadStep {
        switch status {
        case 200..<300:
            // All is there, and the response that said so was lost. This one is what is left of it.
            if UploadFields.isComplete(in: fields) == true { return over(.deliver) }
            guard let offset = UploadFields.offset(in: fields) else { return startOver() }
            if let step = takeLimits(fields) { return step }
            return goOn(from: offset)
        case 404, 410:
            return startOver()
        case 423, 429, 500..<600:
            // Nothing is refused yet: the server is busy, perhaps with the request that was lost.
            return retryLater()
        default:
            return over(.giveUp)
        }
    }

    private mutating func appended(
        _ status: Int, _ fields: HTTPFields, _ offset: Int64, _ length: Int64?, _ isLast: Bool
    ) -> UploadStep {
        let isComplete = UploadFields.isComplete(in: fields)
        if isComplete == true { return over(.deliver) }
        if let step = takeLimits(fields) { return step }
        switch status {
        case 200..<300:
            // A server that does not say otherwise has done what it was told.
            if isLast, isComplete == nil { return over(.deliver) }
            return advance(to: UploadFields.offset(in: fields) ?? end(of: offset, length))
        case 409:
            guard let known = UploadFields.offset(in: fields), known != offset else { return refused() }
            return advance(to: known)
        case 404, 410:
            return startOver()
        case 413 where limits.maximumAppendSize.map({ $0 < length ?? .max }) == true:
            return refused()
        case 423, 429, 502, 503, 504:
            return refused()
        default:
            return over(.deliver)
        }
    }

    /// Where a request ended that carried bytes from `offset` on.
    private func end(of offset: Int64, _ length: Int64?) -> Int64? {
        guard let length else { return nil }
        let (end, overflows) = offset.addingReportingOverflow(length)
        return overflows ? nil : min(end, self.length ?? end)
    }

    // MARK: Steps

    private mutating func create() -> UploadRequest {
        state = .creating
        var fields = fields
        fields.append(UploadFields.version, String(UploadFields.interopVersion))
        fields.append(UploadFields.complete, "?1")
        if let length { fields.append(UploadFields.length, String(length)) }
        return UploadRequest(
            purpose: .creation, method: method, url: url, fields: fields,
            body: UploadRequest.Body(offset: 0, length: length))
    }

    private mutating func retrieveOffset() -> UploadRequest {
        state = .retrieving
        let url = uploadURL ?? url
        return UploadRequest(
            purpose: .offsetRetrieval, method: "HEAD", url: url, fields: followUpFields(to: url), body: nil)
    }

    /// Goes on after an answer that asks for more. One that asks for the same again says no.
    private mutating func advance(to offset: Int64?) -> UploadStep {
        if offset.map({ $0 <= acknowledged }) ?? true {
            refusals += 1
            if refusals > Self.maximumRefusals { return over(.deliver) }
        }
        if let offset, isWasteful(offset) { return over(.deliver) }
        return goOn(from: offset)
    }

    /// Sends what is left, or as much of it as one request may carry (RES-16, RES-21).
    private mutating func goOn(from offset: Int64?) -> UploadStep {
        guard let offset else { return .send(retrieveOffset(), pause: pause()) }
        if isWasteful(offset) { return over(.giveUp) }
        if let length, offset > length {
            return fail(.badServerResponse("The server has more than was to be uploaded"))
        }
        acknowledge(offset)
        var bodyLength: Int64?
        var isLast = true
        if let length {
            let next = limits.next(of: length - offset)
            bodyLength = next
            isLast = next == length - offset
        } else if let most = limits.maximumAppendSize {
            // How much is left is not known; when it has shown, the last request has no body.
            bodyLength = most
            isLast = false
        }
        state = .appending(offset: offset, length: bodyLength, isLast: isLast)
        let url = uploadURL ?? url
        var fields = followUpFields(to: url)
        fields.append(UploadFields.complete, isLast ? "?1" : "?0")
        fields.append(UploadFields.offset, String(offset))
        fields.append("Content-Type", "application/partial-upload")
        return .send(
            UploadRequest(
                purpose: .append, method: "PATCH", url: url, fields: fields,
                body: UploadRequest.Body(offset: offset, length: bodyLength)), pause: 0)
    }

    /// Whether too little is kept of too much, now that the server has the body up to there.
    private mutating func isWasteful(_ offset: Int64) -> Bool {
        guard let sent else { return false }
        self.sent = nil
        let kept = max(min(offset, sent.upperBound) - sent.lowerBound, 0)
        let count = sent.upperBound - sent.lowerBound
        if kept >= count - kept {
            poorRequests = 0
            wasted = 0
            return false
        }
        poorRequests += 1
        wasted = wasted.addingReportingOverflow(count - kept).partialValue
        let most = max(length ?? 0, sent.upperBound).multipliedReportingOverflow(by: Self.maximumWaste)
        return poorRequests > Self.maximumPoorRequests && !most.overflow && wasted > most.partialValue
    }

    private mutating func retryLater() -> UploadStep {
        failures += 1
        return .send(retrieveOffset(), pause: pause())
    }

    /// After an answer that says no, but perhaps not for ever.
    private mutating func refused() -> UploadStep {
        refusals += 1
        if refusals > Self.maximumRefusals { return over(.deliver) }
        return retryLater()
    }

    /// The server has forgotten the upload (RES-16).
    private mutating func startOver() -> UploadStep {
        restarts += 1
        if restarts > Self.maximumRefusals { return over(.giveUp) }
        uploadURL = nil
        hasAskedToMove = false
        limits = UploadLimits()
        acknowledged = 0
        return .send(create(), pause: pause())
    }

    private mutating func over(_ step: UploadStep) -> UploadStep {
        state = .done
        return step
    }

    private mutating func acknowledge(_ offset: Int64) {
        guard offset > acknowledged else { return }
        acknowledged = offset
        failures = 0
        refusals = 0
    }

    /// The first time at once, then 1, 2, 4 … seconds.
    private func pause() -> Int {
        failures < 2 ? 0 : min(1 << min(failures - 2, 6), TimeLimits.standard.longestUploadPause)
    }

    private mutating func takeLimits(_ fields: HTTPFields) -> UploadStep? {
        guard let announced = UploadLimits(fields) else { return nil }
        limits = announced
        guard let most = announced.maximumSize, let length, length > most else { return nil }
        return fail(.resourceExceedsMaximum)
    }

    private mutating func fail(_ error: LoadError) -> UploadStep {
        state = .failed
        return .fail(error)
    }

    // MARK: Fields and URLs

    /// What goes to the upload resource: the caller's own fields, but for those of the body, and for secrets if it lies
    /// on another server.
    private func followUpFields(to url: String) -> HTTPFields {
        var dropped = Self.bodyFields
        if !Self.isSameOrigin(url, as: self.url) { dropped += Self.secretFields + ["origin"] }
        var result = without(dropped, fields)
        result.append(UploadFields.version, String(UploadFields.interopVersion))
        return result
    }

    private static func isSameOrigin(_ url: String, as other: String) -> Bool {
        guard let here = try? HTTPURL(url), let there = try? HTTPURL(other) else { return false }
        return here.isSameOrigin(as: there)
    }

    private static let bodyFields = [
        "content-type", "content-length", "content-encoding", "content-language", "content-location",
        "content-disposition", "transfer-encoding", "expect", "digest", "content-digest", "repr-digest",
    ]
    private static let secretFields = ["authorization", "proxy-authorization", "cookie", "cookie2"]

    private func without(_ names: [String], _ fields: HTTPFields) -> HTTPFields {
        var result = HTTPFields()
        for index in 0..<fields.count where !names.contains(where: { fields.isNamed($0, at: index) }) {
            result.append(fields.name(at: index), fields.value(at: index))
        }
        return result
    }

    /// Where the upload resource is; nil if it could not be reached, or only by giving up TLS.
    private static func uploadURL(_ location: String, from url: String) -> String? {
        guard let target = RedirectRules.target(of: location, from: url), !target.isDowngrade, isHTTP(target.url) else {
            return nil
        }
        return target.url
    }

    static func isHTTP(_ url: String) -> Bool {
        guard let url = try? HTTPURL(url) else { return false }
        return url.scheme == .http || url.scheme == .https
    }
}
