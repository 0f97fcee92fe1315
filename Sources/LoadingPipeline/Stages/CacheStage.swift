internal import FoundationEssentials
internal import LoadingSemantics

/// The cache's part in the current request: the stored response, its effect on the request, and what is stored of the
/// response. The rules are in `CacheRules` and related types. Confined to the load's loop.
struct CacheStage {
    /// The stored response, and the size limit for storing; nil without a cache.
    var contents: CacheContents?
    /// The request in the form that the rules use, set by the decision.
    private var request: CacheRequest?
    private var requestTime: Int64 = 0
    /// Whether the server was asked to validate the stored response.
    private var isValidating = false
    /// The server's answer to the validation was invalid, so the request is sent without conditions.
    private var isUnconditional = false
    private var gathering: Gathering?
    /// The body of the stored response that is served, until it is delivered.
    var served: Data?

    /// A body that is collected for storing while it is delivered. Copied at once, because the pieces occupy pooled
    /// read buffers, which are larger than their contents and which other loads need. An object, because most bodies
    /// are not collected here.
    private final class Gathering {
        let response: StoredResponse
        let limit: Int64
        var body = BodyCollector()

        init(_ response: StoredResponse, limit: Int64, expecting length: Int64) {
            self.response = response
            self.limit = limit
            body.expect(length)
        }
    }

    /// Resets the stage for another request.
    mutating func begin() {
        contents = nil
        request = nil
        isValidating = false
        gathering = nil
        served = nil
    }

    var entry: CacheEntry? { contents?.entry }

    var changeCount: UInt64 { contents?.changeCount ?? 0 }

    /// Whether there is no cache.
    var isAbsent: Bool { contents == nil }

    /// The cache's decision on a request that is ready to be sent.
    mutating func decide(_ request: CacheRequest, now: Int64) -> CacheDecision {
        let stored = contents.map { found in isUnconditional ? [] : found.entry.map { [$0.response] } ?? [] }
        // The array is not allocated for other requests.
        let lengths = request.isForRange ? entry.map { [$0.length] } ?? [] : []
        let decision = CacheRules.decide(request, stored: stored, bodyLengths: lengths, now: now)
        isUnconditional = false
        if case .revalidate = decision { isValidating = true }
        if contents != nil { self.request = request }
        requestTime = now
        return decision
    }

    /// The effect of a response on the stored one.
    enum Effect: Equatable {
        case nothing
        /// The stored response, as updated, is served.
        case serve(StoredResponse, CacheValidation.Confirmed.Fate)
        /// The request is sent again, without conditions.
        case sendAgain
        /// The stored response of the request is outdated.
        case outdated
        /// The stored responses for these keys are outdated.
        case remove([CacheKey])
        /// A response to HEAD updates the stored response.
        case refresh(StoredResponse)
    }

    /// Reads the head of a response. From here on its body is gathered if it may be stored.
    ///
    /// - Parameter partition: The request's partition.
    mutating func read(
        status: Int, fields: HTTPFields, expectedLength: Int64, partition: String?, now: Int64
    ) -> Effect {
        guard let request, let found = contents else { return .nothing }
        let stored = found.entry.map { [$0.response] } ?? []
        if isValidating {
            isValidating = false
            switch CacheValidationRules.read(
                status: status, fields: fields, requestTime: requestTime, responseTime: now, to: request,
                stored: stored, validated: [0])
            {
            case .answered: break
            case .confirmed(let first, _): return .serve(first.response, first.fate)
            case .unusable:
                isUnconditional = true
                return .sendAgain
            }
        }
        if request.method == "HEAD" {
            let effects = CacheValidationRules.readHead(
                status: status, fields: fields, requestTime: requestTime, responseTime: now, to: request, stored: stored
            )
            return switch effects[0] {
            case .changed(let response)?: .refresh(response)
            case .removed?: .outdated
            case nil: .nothing
            }
        }
        let decision = CacheStorageRules.decide(
            request, status: status, fields: fields, requestTime: requestTime, responseTime: now, isComplete: true,
            fits: expectedLength <= found.limit && found.limit > 0)
        switch decision {
        case .store(let response):
            gathering = Gathering(response, limit: found.limit, expecting: expectedLength)
            return .nothing
        case .discard(_, removesOlder: true):
            return outdated
        case .discard:
            let keys = CacheInvalidation.keys(
                method: request.method, url: request.url, status: status, fields: fields, partition: partition)
            return keys.isEmpty ? .nothing : .remove(keys)
        }
    }

    /// A response that is not stored is still newer than the stored one.
    private var outdated: Effect { mayHaveOlder ? .outdated : .nothing }

    var mayHaveOlder: Bool { entry != nil || contents?.isLookedUp == false }

    var isGathering: Bool { gathering != nil }

    /// Gathers a piece of the body. False if the body is now too large (CACHE-31).
    mutating func gather(_ piece: Data) -> Bool {
        guard let gathering else { return true }
        return Int64(gathering.body.count + piece.count) <= gathering.limit
            && piece.withUnsafeBytes { gathering.body.append($0) }
    }

    /// The body is not stored: it is too large or goes elsewhere. True if the cache may hold an older one.
    mutating func stopGathering() -> Bool {
        defer { gathering = nil }
        return gathering != nil && mayHaveOlder
    }

    /// The entry to store for a complete response; nil, without any change, if it is too large.
    ///
    /// - Parameter whole: The body, if it was not gathered here.
    mutating func takeGathered(whole: Data?) -> CacheEntry? {
        guard let gathering else { return nil }
        if let whole, Int64(whole.count) > gathering.limit { return nil }
        self.gathering = nil
        return CacheEntry(
            response: gathering.response, body: whole ?? gathering.body.take(), changeCount: changeCount)
    }
}
