internal import Foundation
internal import LoadingPipeline
internal import LoadingProtocols
internal import LoadingSemantics
internal import LoadingTransport

/// The URL cache of a session, for the engine. Confined to the session's loop.
///
/// A plain cache is used on the loop, and answers later if it must read the disk. A subclass is the program's code: it
/// is called with the loop lent, like delegates, and may answer later (CACHE-26).
final class SessionResponses: ResponseStore {
    func contents(for load: HTTPLoad) -> ClientAnswer<CacheContents?> {
        guard let task = load.client as? TaskCore, let cache = task.core.urlCache else { return .now(nil) }
        let isRead = load.request.method == "GET" || load.request.method == "HEAD"
        // Other methods invalidate stored responses. A download neither reads nor stores (CACHE-2).
        guard isRead else { return .now(CacheContents(entry: nil, limit: 0)) }
        guard task.kind.isData else { return .now(nil) }
        let isPlain = type(of: cache) == URLCache.self
        if isPlain {
            // The size limit is needed even if the cache is not queried (CACHE-10, CACHE-11).
            if load.request.cachePolicy.ignoresStored {
                let (limit, count) = cache.beginning
                return .now(CacheContents(entry: nil, limit: limit, isLookedUp: false, changeCount: count))
            }
            let (known, limit, count) = cache.knownResponse(for: load.request.cacheKey)
            switch known {
            case .found(let cached): return .now(CacheContents(cached, limit: limit, changeCount: count))
            case .none: return .now(CacheContents(entry: nil, limit: limit, changeCount: count))
            case .onDisk(let key, let disk):
                // With a policy that forbids loading, nothing else can answer.
                let mayLoad = load.request.cachePolicy != .returnCacheDataDontLoad
                let unknown = CacheContents(entry: nil, limit: limit, isLookedUp: false, changeCount: count)
                if mayLoad, disk.isStalled { return .now(unknown) }
                let lookup = load.makeContentsLookup(orElse: mayLoad ? unknown : nil)
                cache.lookUp(key, on: disk) { lookup.answer(CacheContents($0, limit: limit, changeCount: count)) }
                return .later
            }
        }
        guard let object = task.dataTask else { return .now(nil) }
        let get = load.getRequest
        let lookup = load.makeContentsLookup()
        // The properties of responses are the program's code too.
        let ignoresStored = load.request.cachePolicy.ignoresStored
        task.core.loop.callOut(
            CalledOut {
                // What the subclass removes while it looks, and what it was told to remove before, is no change during
                // the load.
                if ignoresStored {
                    return lookup.answer(
                        CacheContents(
                            entry: nil, limit: cache.limit, isLookedUp: false, changeCount: cache.changeCount))
                }
                let answer: @Sendable (CachedURLResponse?) -> Void = { found in
                    lookup.answer(CacheContents(found, limit: cache.limit, changeCount: cache.changeCount))
                }
                if let get { return answer(cache.cachedResponse(for: get)) }
                cache.getCachedResponse(for: object, completionHandler: answer)
            })
        return .later
    }

    func store(
        _ entry: CacheEntry?, of load: HTTPLoad, since changeCount: UInt64, for client: any LoadClient
    ) -> ClientAnswer<Void> {
        guard let task = client as? TaskCore, let cache = task.core.urlCache else { return .now }
        let response = entry.flatMap { entry in
            entry.object as? CachedURLResponse ?? task.url(of: load).map { CachedURLResponse(entry, at: $0) }
        }
        if type(of: cache) == URLCache.self {
            if let key = load.request.cacheKey {
                if let response, let entry {
                    cache.store(response, for: key, loadedSince: entry.changeCount)
                } else {
                    // Unless another load has stored one, or the delegate itself.
                    cache.invalidate([key], unlessStoredSince: changeCount)
                }
            }
            return .now
        }
        guard let object = task.dataTask else { return .now }
        let loaded = response.map { LoadedResponse($0, of: load, since: entry?.changeCount ?? 0) }
        if loaded == nil, let key = load.request.cacheKey,
            cache.noteInvalidation(of: [key], unlessStoredSince: changeCount).isEmpty
        {
            return .now
        }
        let finish = LoopBox({ load.finishStoring() })
        task.core.loop.callOut(
            CalledOut {
                if let loaded {
                    loaded.store(in: cache) {
                        cache.storeCachedResponse($0, for: object)
                    } orRemove: {
                        cache.removeCachedResponse(for: object)
                    }
                } else {
                    cache.removeCachedResponse(for: object)
                }
                task.core.loop.post { finish.value() }
            })
        return .later
    }

    func store(redirect entry: CacheEntry, of load: HTTPLoad) {
        // The task's current request is already the next one.
        guard let task = load.client as? TaskCore, let cache = task.core.urlCache,
            let url = URL(string: load.request.urlText)
        else { return }
        let response = CachedURLResponse(entry, at: url)
        if type(of: cache) == URLCache.self {
            if let key = load.request.cacheKey { cache.store(response, for: key, loadedSince: entry.changeCount) }
            return
        }
        let loaded = LoadedResponse(response, of: load, since: entry.changeCount)
        let request = load.request(forStored: url)
        task.core.loop.callOut(
            CalledOut {
                loaded.store(in: cache) {
                    cache.storeCachedResponse($0, for: request)
                } orRemove: {
                    cache.removeCachedResponse(for: request)
                }
            })
    }

    func update(_ entry: CacheEntry, of load: HTTPLoad) {
        guard let task = load.client as? TaskCore, let cache = task.core.urlCache,
            let old = entry.object as? CachedURLResponse, let url = task.url(of: load)
        else { return }
        let response = CachedURLResponse(entry, at: url, like: old)
        if type(of: cache) == URLCache.self {
            if let key = load.request.cacheKey { cache.replace(old, with: response, for: key) }
            return
        }
        guard let object = task.dataTask else { return }
        let loaded = LoadedResponse(response, of: load, since: entry.changeCount)
        let get = load.getRequest
        task.core.loop.callOut(
            CalledOut {
                // Its body is that of the response that was replaced.
                if loaded.isReplaced(in: cache) { return }
                loaded.store(in: cache) {
                    if let get {
                        cache.storeCachedResponse($0, for: get)
                    } else {
                        cache.storeCachedResponse($0, for: object)
                    }
                }
            })
    }

    func remove(_ keys: [CacheKey], of load: HTTPLoad, since changeCount: UInt64?) {
        guard let task = load.client as? TaskCore, let cache = task.core.urlCache else { return }
        if type(of: cache) == URLCache.self { return cache.invalidate(keys, unlessStoredSince: changeCount) }
        let keys = cache.noteInvalidation(of: keys, unlessStoredSince: changeCount)
        if keys.isEmpty { return }
        let requests = keys.compactMap { key in URL(string: key.address).map { load.request(forStored: $0) } }
        task.core.loop.callOut(CalledOut { for request in requests { cache.removeCachedResponse(for: request) } })
    }
}

extension HTTPLoad {
    /// The request for a stored response that is not the one to the task's request.
    fileprivate func request(forStored url: URL) -> URLRequest {
        var get = URLRequest(url: url)
        get.cookiePartitionIdentifier = request.partition
        return get
    }

    /// For HEAD, the GET whose stored response it updates (CACHE-20). The task's request has none.
    fileprivate var getRequest: URLRequest? {
        guard request.method == "HEAD" else { return nil }
        return URL(string: request.urlText).map { request(forStored: $0) }
    }
}

/// The delegate's decision about storing a response.
extension TaskCore {
    fileprivate var dataTask: URLSessionDataTask? { heldTask as? URLSessionDataTask }

    func load(
        _ load: HTTPLoad, willStore entry: CacheEntry, _ lookup: @autoclosure () -> PendingLookup<CacheEntry?>
    ) -> ClientAnswer<CacheEntry?> {
        // CACHE-3: no delegate is asked about a permanent redirect.
        guard 200...299 ~= entry.response.status, wantsCaching, let url = url(of: load), dataTask != nil else {
            return .now(entry)
        }
        if case .whole = destination { deliverBodyEarly(entry.body) }
        let (proposed, lookup) = (CachedURLResponse(entry, at: url), lookup())
        let cache = core.urlCache
        let loaded = LoadedResponse(proposed, of: load, since: entry.changeCount)
        let isOvertaken = loaded.isRemoved(from: cache) || loaded.isReplaced(in: cache)
        enqueue(
            .willCache(proposed) { answered in
                let wanted = answered?.withFacts(of: proposed)
                // What the delegate removes makes room for this response, but not what other loads have done meanwhile.
                // The count comes first, so that a later change counts when the response is stored.
                var count = cache?.changeCount ?? 0
                if isOvertaken || loaded.isOvertaken(in: cache) { count = entry.changeCount }
                lookup.answer(
                    wanted.map {
                        CacheEntry(response: entry.response, body: $0.data, object: $0, changeCount: count)
                    })
            })
        return .later
    }

    var wantsCaching: Bool {
        isForDelegate && !delegates.lack([.dataTaskWillCacheResponse, .dataTaskWillCacheResponseAsync])
    }
}

extension CachedURLResponse {
    /// - Parameter old: The response that it replaces, whose other properties it keeps.
    fileprivate convenience init(_ entry: CacheEntry, at url: URL, like old: CachedURLResponse? = nil) {
        let response = HTTPURLResponse(
            url: url, status: entry.response.status, version: "HTTP/1.1", fields: entry.response.fields,
            body: entry.body)
        self.init(
            response: response, data: entry.body, userInfo: old?.userInfo,
            storagePolicy: old?.storagePolicy ?? .allowed,
            facts: entry.response)
    }
}

extension CacheContents {
    /// A response that is not HTTP has no cache entry, but may be stored.
    fileprivate init(_ cached: CachedURLResponse?, limit: Int64, changeCount: UInt64) {
        let entry = cached.flatMap { cached in
            cached.facts.map { CacheEntry(response: $0, body: cached.data, object: cached) }
        }
        self.init(
            entry: entry, limit: limit, isLookedUp: cached == nil || entry != nil, changeCount: changeCount)
    }
}
