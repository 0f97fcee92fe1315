internal import FoundationEssentials
internal import LoadingSemantics

/// What the cache has to do with the request that is fetched: what is stored for it, what that means for the request, and
/// what is to be kept of the response. The rules are `CacheRules` and its neighbours. Confined to the load's loop.
struct CacheStage {
    /// What is stored, and how much would be; nil without a cache.
    var contents: CacheContents?
    /// The request as the rules see it, from the decision on.
    private var request: CacheRequest?
    private var requestTime: Int64 = 0
    /// Whether the server was asked about what is stored.
    private var isValidating = false
    /// The server's answer to that made no sense, so the request goes out without conditions.
    private var isUnconditional = false
    private var gathering: Gathering?
    /// The body of the stored response that is the answer, until the client has it.
    var served: Data?

    /// A body that is kept as it goes by.
    private struct Gathering {
        let response: StoredResponse
        let limit: Int64
        var pieces: [Data] = []
        var count: Int64 = 0
    }

    /// Another request is fetched.
    mutating func begin() {
        contents = nil
        request = nil
        isValidating = false
        gathering = nil
        served = nil
    }

    var entry: CacheEntry? { contents?.entry }

    /// Whether there is no cache.
    var isAbsent: Bool { contents == nil }

    /// What becomes of a request that is ready to go out.
    mutating func decide(_ request: CacheRequest, now: Int64) -> CacheDecision {
        let stored = contents.map { found in isUnconditional ? [] : found.entry.map { [$0.response] } ?? [] }
        let decision = CacheRules.decide(request, stored: stored, now: now)
        isUnconditional = false
        if case .revalidate = decision { isValidating = true }
        if contents != nil { self.request = request }
        requestTime = now
        return decision
    }

    /// What a response does to what is stored.
    enum Effect: Equatable {
        case nothing
        /// The stored response is the answer, as it is now.
        case serve(StoredResponse, CacheValidation.Confirmed.Fate)
        /// Once more, without conditions.
        case sendAgain
        /// What is stored for the request is out of date.
        case outdated
        /// What is stored for these is.
        case remove([CacheKey])
        /// A response to HEAD tells news of what is stored.
        case refresh(StoredResponse)
    }

    /// Reads the head of a response. From here on its body is gathered if it is worth keeping.
    ///
    /// - Parameter partition: That of the request.
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
            request, status: status, fields: fields, requestTime: requestTime, responseTime: now, isComplete: true)
        switch decision {
        case .store(let response):
            if expectedLength <= found.limit, found.limit > 0 {
                gathering = Gathering(response: response, limit: found.limit)
                return .nothing
            }
            return outdated
        case .discard(_, removesOlder: true):
            return outdated
        case .discard:
            let keys = CacheInvalidation.keys(
                method: request.method, url: request.url, status: status, fields: fields, partition: partition)
            return keys.isEmpty ? .nothing : .remove(keys)
        }
    }

    /// A response that is not kept is newer than what is stored all the same.
    private var outdated: Effect { mayHoldOlder ? .outdated : .nothing }

    var mayHoldOlder: Bool { entry != nil || contents?.isLookedUp == false }

    var isGathering: Bool { gathering != nil }

    /// A piece of the body has come. False if it is too large by now (CACHE-31).
    mutating func gather(_ piece: Data) -> Bool {
        guard let limit = gathering?.limit, let count = gathering?.count else { return true }
        gathering?.count = count + Int64(piece.count)
        guard count + Int64(piece.count) <= limit else { return false }
        gathering?.pieces.append(piece)
        return true
    }

    /// The body is not kept: it is too large, or goes elsewhere. True if something older is stored.
    mutating func stopGathering() -> Bool {
        defer { gathering = nil }
        return gathering != nil && mayHoldOlder
    }

    /// What is to be kept of a response that has come to its end; nil, and nothing has changed, if it is too large.
    ///
    /// - Parameter whole: The body, if it was not gathered here.
    mutating func takeGathered(whole: Data?) -> CacheEntry? {
        guard let gathering else { return nil }
        if let whole, Int64(whole.count) > gathering.limit { return nil }
        if let whole {
            self.gathering = nil
            return CacheEntry(response: gathering.response, body: whole)
        }
        // The pieces lie in buffers that others wait for, and that are larger than what is in them.
        var body = BodyCollector()
        body.expect(gathering.count)
        for piece in gathering.pieces {
            guard piece.withUnsafeBytes({ body.append($0) }) else { return nil }
        }
        self.gathering = nil
        return CacheEntry(response: gathering.response, body: body.take())
    }
}
