internal import FoundationEssentials
internal import LoadingConnections
internal import LoadingEvents
internal import LoadingProtocols
internal import LoadingSemantics
internal import LoadingTransport

/// The cache: responses served from it, stored responses that the server has confirmed, and the storing of received
/// responses.
extension HTTPLoad {
    func lookUpCache() {
        // Responses to the follow-up requests of a resumable upload are not delivered to the client, and a WebSocket
        // has none to store.
        if uploading?.isFollowUp != true, webSocketOffer == nil {
            guard case .now(let contents) = environment.responses?.contents(for: self) ?? .now(nil) else { return }
            // Without a cache, there is nothing to set.
            if let contents {
                cache.contents = contents
                // The pieces of a body that goes to a file are not collected (CACHE-2).
                if sink.destination.folder != nil { cache.contents?.limit = 0 }
            }
        }
        machine.apply(.passed(.cacheLookup))
    }

    /// The lookup of the stored response that the load waits for.
    ///
    /// - Parameter contents: What counts if there is no answer in time; nil to wait for it.
    package func makeContentsLookup(orElse contents: CacheContents? = nil) -> PendingLookup<CacheContents> {
        let loop = environment.loop
        let lookup = awaiting(
            PendingLookup<CacheContents>(on: loop) { [self] contents in
                dropLookupDeadline()
                guard passes(.cacheLookup) else { return }
                cache.contents = contents
                advanceAfterWait()
            })
        dropLookupDeadline()
        if let contents {
            let timer = LoopTimer()
            lookupDeadline = (timer, { lookup.answer(contents) })
            loop.arm(timer, at: loop.now &+ loop.limits.cacheLookup, for: self)
        }
        return lookup
    }

    func dropLookupDeadline() {
        guard let timer = lookupDeadline?.timer else { return }
        lookupDeadline = nil
        environment.loop.disarm(timer)
    }

    /// Completes the request except for its body, and applies the cache's decision.
    func decideCache() {
        if !hashesBody() { passCacheDecision() }
    }

    func passCacheDecision() {
        guard let sent = completedRequest() else { return }
        prepared = sent
        machine.apply(.passed(.cacheDecision))
    }

    /// Nil if the request does not go to the server.
    private func completedRequest() -> ExchangeRequest? {
        var sent = ExchangeRequest(
            method: request.method, url: request.url, own: request.fields, defaults: environment)
        if let cookies {
            // The stored cookies replace the caller's own field (COOK-22).
            sent.fields = sent.fields.without(names: ["Cookie"])
            sent.fields.append("Cookie", cookies)
            log?.traceOnly(.cookiesSent(cookies.utf8.count { $0 == UInt8(ascii: ";") } + 1))
        }
        authenticate(&sent)
        if let webSocketOffer { addHandshake(webSocketOffer, to: &sent) }
        guard passesCache(&sent) else { return nil }
        if !request.fields.isEmpty, request.fields.contains("Range") { refuseCodings(&sent) }
        return sent
    }

    /// A part of a coded body could not be decoded. Not before the cache's decision: a stored response without coding
    /// has any part, whichever codings its request has offered.
    private func refuseCodings(_ sent: inout ExchangeRequest) {
        if request.fields.contains("Accept-Encoding") { return }
        let field = HTTPFields([("Accept-Encoding", "identity")])
        sent.fields.append(contentsOf: field)
        sent.defaults = sent.defaults.without(namesOf: field)
    }

    /// Whether the request has to go to the server. Adds the fields that the cache requires.
    private func passesCache(_ sent: inout ExchangeRequest) -> Bool {
        // There is no stored response to use, and no cache directive to add for caches on the route.
        if uploading?.isFollowUp == true || cache.isAbsent && request.cachePolicy == .useProtocolCachePolicy {
            return true
        }
        // A request that switches the protocol needs the connection, not a stored response.
        if webSocketOffer != nil || request.fields.contains("Upgrade") { return true }
        let asked = CacheRequest(
            method: request.method, url: request.url, fields: sent.fields, defaults: sent.defaults,
            policy: request.cachePolicy, fingerprint: { Self.fingerprint($0) })
        let decision = cache.decide(asked, now: environment.loop.clock.wallTime)
        log?.traceOnly(.cacheDecision(decision.name, because: "\(decision.reason)"))
        switch decision {
        case .load(let more, _), .revalidate(_, let more, _):
            if !more.isEmpty {
                sent.fields.append(contentsOf: more)
                sent.defaults = sent.defaults.without(namesOf: more)
            }
            return true
        case .fail(let error, _): end(error)
        case .serve(_, let age, _):
            guard let entry = cache.entry else { return true }
            serve(entry, fields: age.map { entry.response.fields(age: $0) } ?? entry.response.fields)
        case .servePart(_, let bytes, let age, _):
            guard let entry = cache.entry else { return true }
            serve(entry.part(bytes), fields: entry.response.fields(ofPart: bytes, of: entry.length, age: age))
        }
        return false
    }

    /// Delivers the stored response, or a part of it.
    private func serve(_ entry: CacheEntry, fields: HTTPFields) {
        releaseHeldConnection()
        log?.record(.servedFromCache)
        sink.decoding = DecodingStage()
        // A stored body is not split: if it had parts, they were handled before it was stored.
        partsAreOver = true
        cache.served = entry.body
        let response = LoadResponse(
            url: request.url,
            head: ResponseHead(
                status: entry.response.status, version: .http11, fields: fields, byteCount: 0),
            expectedLength: entry.length, hasBody: !entry.body.isEmpty)
        self.response = response
        //
        if !handleRedirect(response) { deliverResponse() }
    }

    /// True if the cache handles the response: it confirms the stored one, or requires another request.
    func handleByCache(_ response: LoadResponse) -> Bool {
        if cache.isAbsent { return false }
        switch cache.read(
            status: response.head.status, fields: response.head.fields, expectedLength: response.expectedLength,
            partition: request.partition, now: environment.loop.clock.wallTime)
        {
        case .nothing:
            // Once stored, parts can no longer be told apart.
            if cache.isGathering, MultipartStage(response) != nil { stopGathering() }
        case .outdated: removeStored()
        case .remove(let keys): environment.responses?.remove(keys, of: self, since: nil)
        case .refresh(let stored): refresh(stored)
        case .serve(let stored, let fate):
            guard var entry = cache.entry else { return false }
            entry.response = stored
            switch fate {
            case .stored: refresh(stored)
            case .removed: removeStored()
            case .untouched: break
            }
            dropExchange()
            log?.record(.responseEnded(bytes: 0, decoded: 0))
            client?.load(self, transactionEnded: response)
            log?.record(.fetchStarted(.cache))
            serve(entry, fields: stored.fields)
            return true
        case .sendAgain:
            dropExchange()
            fetch(.retry)
            return true
        }
        return false
    }

    /// Does not store the response. A stored response is older and is removed.
    func stopGathering() {
        if cache.stopGathering() { removeStored() }
    }

    /// Removes the stored response of the request, unless it was stored since the load began.
    private func removeStored() {
        if let key = request.cacheKey { environment.responses?.remove([key], of: self, since: cache.changeCount) }
    }

    private func refresh(_ stored: StoredResponse) {
        guard var entry = cache.entry else { return }
        entry.response = stored
        entry.changeCount = cache.changeCount
        environment.responses?.update(entry, of: self)
    }

    /// Stores the complete response unless the client objects. True if the end of the load has to wait for that (T-42).
    func storesResponse(_ whole: Data?) -> Bool {
        guard let client, cache.isGathering else { return false }
        guard let entry = cache.takeGathered(whole: whole) else {
            stopGathering()
            return false
        }
        let (changeCount, mayHaveOlder) = (cache.changeCount, cache.mayHaveOlder)
        // The response is stored as the client decides, even if the load has been cancelled meanwhile.
        let answer = client.load(
            self, willStore: entry,
            PendingLookup(on: environment.loop) { [self] wanted in
                if !store(wanted, for: client, since: changeCount, mayHaveOlder) { finishStoring() }
            })
        guard case .now(let wanted) = answer else { return true }
        return store(wanted, for: client, since: changeCount, mayHaveOlder)
    }

    /// True if `finishStoring` follows.
    private func store(
        _ entry: CacheEntry?, for client: any LoadClient, since changeCount: UInt64, _ mayHaveOlder: Bool
    ) -> Bool {
        guard let store = environment.responses, entry != nil || mayHaveOlder else { return false }
        if case .later = store.store(entry, of: self, since: changeCount, for: client) { return true }
        return false
    }

    /// Stores a permanent redirect that is followed, if its whole body has arrived. The load does not wait for the rest
    ///
    func keepRedirect() {
        guard cache.isGathering else { return }
        guard machine.responseEnd == .complete, !sink.decoding.isActive,
            let entry = cache.takeGathered(whole: sink.takeBacklog())
        else {
            return stopGathering()
        }
        environment.responses?.store(redirect: entry, of: self)
    }

    /// Hashes a field's value: `Vary` may name `Cookie` and `Authorization`, and a cache may be on a disk.
    package static func fingerprint(_ text: [UInt8]) -> [UInt8] {
        // Without the hash, a random fingerprint that matches no other.
        MessageDigest.hash(.sha256, text) ?? (0..<32).map { _ in UInt8.random(in: .min ... .max) }
    }
}
