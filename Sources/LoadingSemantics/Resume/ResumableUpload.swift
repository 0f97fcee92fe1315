/// An upload that continues after a lost connection, by draft-ietf-httpbis-resumable-upload (RES-13 to RES-21). No
/// socket and no clock.
///
/// The caller sends the request of `start`, reports each 104 and the end of each request, whether by response or lost
/// connection, and performs the returned `UploadStep`. Until a 104 offers resumption, this is an ordinary upload.
package struct ResumableUpload: Sendable, Equatable {
    private enum State: Sendable, Equatable {
        case idle
        case creating
        case retrieving
        case appending(offset: Int64, length: Int64?, isLast: Bool)
        /// The server has other data than this upload, or rejects its length.
        case failed
        case done
    }

    /// The number of consecutive refusals after which an upload fails, and of restarts from the beginning. Lost
    /// connections are not limited: the task's timeout applies (RES-17).
    private static let maximumRefusals = 3
    /// An upload is abandoned after so many requests of which the server kept less than half, if also the bytes that it
    /// did not keep exceed so many times the length of the body. Good requests between them do not count: one of a
    /// single byte costs the server nothing.
    private static let maximumPoorRequests = 64
    private static let maximumWaste: Int64 = 16

    private let method: String
    private let url: String
    private var fields: HTTPFields
    /// Where the fields belong: the URL of the request with the body, after redirects.
    private let fieldsURL: String
    private var length: Int64?
    private var state = State.idle
    private var uploadURL: String?
    package private(set) var limits = UploadLimits()
    /// The number of bytes that the server has acknowledged.
    package private(set) var acknowledged: Int64 = 0
    /// The part of it that final responses have confirmed.
    private var confirmed: Int64 = 0
    /// Consecutive failures without progress.
    private var failures = 0
    /// Consecutive refusals without progress.
    private var refusals = 0
    private var restarts = 0
    /// Whether the client was asked about a move to another origin.
    private var hasAskedToMove = false
    /// The range of the body in the last request that had a body, until the server reports what it kept.
    private var sent: Range<Int64>?
    /// The requests of which less than half was kept, and the bytes that were sent and not kept.
    private var poorRequests = 0
    private var wasted: Int64 = 0

    /// - Parameters:
    ///   - fields: The fields of the task's request, or of the one that a redirect led to.
    ///   - fieldsURL: The URL of that request; nil for `url`.
    ///   - length: The length of the body, or nil if unknown.
    package init(method: String, url: String, fields: HTTPFields, of fieldsURL: String? = nil, length: Int64?) {
        self.method = method
        self.url = url
        self.fields = fields
        self.fieldsURL = fieldsURL ?? url
        self.length = length
    }

    /// Resumes an upload of another task.
    ///
    /// - Parameters:
    ///   - fields: The fields of the request that resumes it. They may contain secrets, which the point does not. They
    ///     are used at the origin of that request only: a redirect, or the client, may have removed some of them.
    ///   - fieldsURL: The URL of that request.
    package init(resuming point: UploadResumePoint, fields: HTTPFields, of fieldsURL: String) {
        let isOwnOrigin = Self.isSameOrigin(point.uploadURL, as: fieldsURL)
        self.init(
            method: point.method, url: point.url, fields: isOwnOrigin ? fields : point.fields, of: fieldsURL,
            length: point.length)
        uploadURL = point.uploadURL
        limits = point.limits
    }

    /// Whether an upload task may use the protocol (RES-18): its method allows a body, and the caller has not set
    /// fields of the protocol.
    package static func isPossible(method: String, fields: HTTPFields) -> Bool {
        !["GET", "HEAD", "DELETE", "OPTIONS", "TRACE", "CONNECT"].contains(method)
            && !UploadFields.all.contains(where: fields.contains)
    }

    /// The state for resume data; nil if the server has not offered resumption, or the upload is complete (RES-13).
    package var resumePoint: UploadResumePoint? {
        guard let uploadURL, state != .done, state != .failed else { return nil }
        return UploadResumePoint(
            method: method, url: URLReference.withoutUserinfo(url), fields: fields.without(names: Self.secretFields),
            length: length, uploadURL: uploadURL, limits: limits)
    }

    /// The request that deletes the upload resource, for an upload that is not resumed (RES-16).
    package var cancellation: UploadRequest? {
        guard let uploadURL, state != .done else { return nil }
        return UploadRequest(
            purpose: .cancellation, method: "DELETE", url: uploadURL, fields: followUpFields(to: uploadURL), body: nil)
    }

    // MARK: Events

    package mutating func start() -> UploadRequest {
        uploadURL == nil ? create() : retrieveOffset()
    }

    /// The body ended at that length. Must be called before the request with the end is answered.
    package mutating func bodyEnded(at length: Int64) {
        self.length = max(length, 0)
    }

    /// Bytes of the body that the current request has sent. Must be called before the request ends.
    package mutating func sentBody(_ count: Int64) {
        let start: Int64 = if case .appending(let offset, _, _) = state { offset } else { 0 }
        let (end, overflows) = start.addingReportingOverflow(max(count, 0))
        if count > 0, !overflows { sent = start..<end }
    }

    /// The client has approved the move that `askToMove` proposed, without the fields of these names. Ignored if the
    /// upload resource is known by now.
    package mutating func move(to url: String, without names: [String] = []) {
        guard case .creating = state, uploadURL == nil, Self.isHTTP(url) else { return }
        uploadURL = url
        fields = fields.without(names: names)
    }

    /// The request that would go to an upload resource at another origin, for the client's decision.
    package func proposal(to url: String) -> UploadRequest {
        UploadRequest(purpose: .append, method: "PATCH", url: url, fields: followUpFields(to: url), body: nil)
    }

    /// A 104 has arrived (RES-14, RES-15). If it names another origin, the client decides whether the body may go
    /// there.
    ///
    /// - Parameter url: The URL of the request, after redirects.
    package mutating func received104(_ fields: HTTPFields, from url: String) -> UploadStep? {
        guard UploadFields.isOurVersion(fields) else { return nil }
        switch state {
        case .creating:
            // A request has one upload resource; later `Location` fields are ignored.
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
        // Only a final response proves progress: else a server could begin the count of failures anew for ever.
        if let offset = UploadFields.offset(in: fields), offset <= length ?? .max {
            acknowledged = max(acknowledged, offset)
        }
        return takeLimits(fields)
    }

    /// The final response to the current request, after redirects and challenges.
    package mutating func received(status: Int, fields: HTTPFields) -> UploadStep {
        switch state {
        case .idle, .failed, .done: .deliver
        case .creating: created(status, fields)
        case .retrieving: retrieved(status, fields)
        case .appending(let offset, let length, let isLast): appended(status, fields, offset, length, isLast)
        }
    }

    /// The connection was lost before the response to the current request (RES-17).
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
            // The server answered before it had the whole body.
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
            // The upload is complete; the response with the result was lost. This response takes its place.
            if UploadFields.isComplete(in: fields) == true { return over(.deliver) }
            guard let offset = UploadFields.offset(in: fields) else { return restart() }
            if let step = takeLimits(fields) { return step }
            return continueUpload(from: offset)
        case 404, 410:
            return restart()
        case 401, 403, 407:
            // It is about the user, and was a challenge before if it could be answered.
            return over(.deliver)
        case 423, 429, 500..<600:
            // The server is busy, perhaps with the lost request. Not a refusal.
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
            // Without `Upload-Complete`, a success means that the server took the whole body.
            if isLast, isComplete == nil { return over(.deliver) }
            return advance(to: UploadFields.offset(in: fields) ?? end(of: offset, length))
        case 409:
            guard let known = UploadFields.offset(in: fields), known != offset else { return refused() }
            return advance(to: known)
        case 404, 410:
            return restart()
        case 413 where limits.maximumAppendSize.map({ $0 < length ?? .max }) == true:
            return refused()
        case 423, 429, 502, 503, 504:
            return refused()
        default:
            return over(.deliver)
        }
    }

    /// The end of the range of a request.
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

    /// Continues after a response that requests more data. A response without progress counts as a refusal.
    private mutating func advance(to offset: Int64?) -> UploadStep {
        if offset.map({ $0 <= confirmed }) ?? true {
            refusals += 1
            if refusals > Self.maximumRefusals { return over(.deliver) }
        }
        if let offset, isWasteful(offset) { return over(.deliver) }
        return continueUpload(from: offset)
    }

    /// Sends the rest, or as much as one request may contain (RES-16, RES-21).
    private mutating func continueUpload(from offset: Int64?) -> UploadStep {
        guard let offset else { return .send(retrieveOffset(), pause: pause()) }
        if isWasteful(offset) { return over(.giveUp) }
        if let length, offset > length {
            return fail(.badServerResponse("The server has more than was to be uploaded"))
        }
        confirm(offset)
        var bodyLength: Int64?
        var isLast = true
        if let length {
            let next = limits.next(of: length - offset)
            bodyLength = next
            isLast = next == length - offset
        } else if let most = limits.maximumAppendSize {
            // The remaining length is unknown. Once the body ends, the last request is empty.
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

    /// Whether the server, which now has the body up to `offset`, wastes too much of what it receives.
    private mutating func isWasteful(_ offset: Int64) -> Bool {
        guard let sent else { return false }
        self.sent = nil
        let kept = max(min(offset, sent.upperBound) - sent.lowerBound, 0)
        let count = sent.upperBound - sent.lowerBound
        if kept < count - kept { poorRequests += 1 }
        let sum = wasted.addingReportingOverflow(count - kept)
        wasted = sum.overflow ? .max : sum.partialValue
        let most = max(length ?? 0, sent.upperBound).multipliedReportingOverflow(by: Self.maximumWaste)
        return poorRequests > Self.maximumPoorRequests && !most.overflow && wasted > most.partialValue
    }

    private mutating func retryLater() -> UploadStep {
        failures += 1
        return .send(retrieveOffset(), pause: pause())
    }

    /// After a refusal that may be temporary.
    private mutating func refused() -> UploadStep {
        refusals += 1
        if refusals > Self.maximumRefusals { return over(.deliver) }
        return retryLater()
    }

    /// The server no longer has the upload resource (RES-16).
    private mutating func restart() -> UploadStep {
        restarts += 1
        if restarts > Self.maximumRefusals { return over(.giveUp) }
        uploadURL = nil
        hasAskedToMove = false
        limits = UploadLimits()
        (acknowledged, confirmed) = (0, 0)
        return .send(create(), pause: pause())
    }

    private mutating func over(_ step: UploadStep) -> UploadStep {
        state = .done
        return step
    }

    private mutating func confirm(_ offset: Int64) {
        guard offset > confirmed else { return }
        confirmed = offset
        acknowledged = max(acknowledged, offset)
        failures = 0
        refusals = 0
    }

    /// In seconds: none for the first failure, then 1, 2, 4, …
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

    /// The fields of requests to the upload resource: those of the caller, without those about the body, and without
    /// secrets if the origin differs.
    private func followUpFields(to url: String) -> HTTPFields {
        var dropped = Self.bodyFields
        if !Self.isSameOrigin(url, as: fieldsURL) { dropped += Self.secretFields + ["origin"] }
        var result = fields.without(names: dropped)
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

    /// The upload resource; nil if it is not loadable, or would downgrade from TLS.
    private static func uploadURL(_ location: String, from url: String) -> String? {
        guard let target = RedirectRules.target(of: location, from: url), !target.isDowngrade, isHTTP(target.url) else {
            return nil
        }
        return target.url
    }

    static func isHTTP(_ url: String) -> Bool {
        guard let url = try? HTTPURL(url) else { return false }
        return url.scheme.isHTTP
    }
}
