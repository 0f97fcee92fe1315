internal import Foundation
internal import LoadingPipeline
internal import LoadingProtocols
internal import LoadingSemantics
internal import LoadingTransport

/// A task's way to its cache.
///
/// A plain cache is asked on the loop, and answers later what it has to look for on disk. A subclass is the caller's code:
/// it is called with the loop lent, as delegates are, and may answer later (CACHE-26).
extension TaskCore {
    func load(_ load: any Load, storedFor request: LoadRequest) -> ClientAnswer<CacheContents?> {
        guard let cache = core.urlCache else { return .now(nil) }
        let isRead = request.method == "GET" || request.method == "HEAD"
        // What other methods change is noted; a download neither reads nor keeps (CACHE-2).
        guard isRead else { return .now(CacheContents(entry: nil, limit: 0)) }
        guard kind.isData, let task = heldTask as? URLSessionDataTask, let load = load as? HTTPLoad else {
            return .now(nil)
        }
        if request.cachePolicy.ignoresStored { return contents(of: cache, for: load) }
        if type(of: cache) == URLCache.self {
            let key = request.cacheKey
            cached = key.flatMap { cache.responseInMemory(for: $0) }
            if cached == nil, let key, find(key, on: cache, for: load) { return .later }
            return .now(CacheContents(entry: cached.flatMap { CacheEntry($0) }, limit: cache.limit))
        }
        let provide = provider(for: load)
        core.loop.callOut(
            StoreLookup {
                cache.getCachedResponse(for: task, completionHandler: $0)
            } answer: { [core] found in
                // Their properties are the caller's code too.
                let contents = CacheContents(entry: found.flatMap { CacheEntry($0) }, limit: cache.limit)
                core.loop.post { provide.value(found, contents) }
            })
        return .later
    }

    /// What is said of a cache that is not asked (CACHE-10, CACHE-11): how much it takes.
    private func contents(of cache: URLCache, for load: HTTPLoad) -> ClientAnswer<CacheContents?> {
        cached = nil
        if type(of: cache) == URLCache.self {
            return .now(CacheContents(entry: nil, limit: cache.limit, isLookedUp: false))
        }
        let provide = provider(for: load)
        core.loop.callOut(
            CalledOut { [core] in
                let contents = CacheContents(entry: nil, limit: cache.limit, isLookedUp: false)
                core.loop.post { provide.value(nil, contents) }
            })
        return .later
    }

    /// Has it looked for on the cache's disk. False if it cannot be there.
    private func find(_ key: CacheKey, on cache: URLCache, for load: HTTPLoad) -> Bool {
        guard let disk = cache.beginLookup(of: key) else { return false }
        let provide = provider(for: load)
        let limit = cache.limit
        cache.lookUp(key, on: disk) { [core] found in
            let contents = CacheContents(entry: found.flatMap { CacheEntry($0) }, limit: limit)
            core.loop.post { provide.value(found, contents) }
        }
        return true
    }

    /// What takes the answer to the loop. A disk may never give one, and is not to keep a task that is over.
    private func provider(for load: HTTPLoad) -> LoopBox<(CachedURLResponse?, CacheContents) -> Void> {
        LoopBox { [weak self, weak load] found, contents in
            self?.cached = found
            load?.provideStored(contents)
        }
    }

    func load(_ load: any Load, proposes entry: CacheEntry) -> ClientAnswer<Void> {
        guard let cache = core.urlCache, let load = load as? HTTPLoad, let proposed = response(of: entry, like: nil)
        else {
            return .now
        }
        // CACHE-3: of lasting redirects nobody is asked.
        let isAsked =
            isForDelegate && 200...299 ~= entry.response.status
            && !delegates.lack([.dataTaskWillCacheResponse, .dataTaskWillCacheResponseAsync])
        if !isAsked, type(of: cache) == URLCache.self {
            keep(proposed, in: cache, load.request)
            return .now
        }
        if isAsked, case .whole = destination { tellBodyEarly(entry.body) }
        let finish = LoopBox({ load.finishKeeping() })
        let mayHoldOlder = cached != nil || load.request.cachePolicy.ignoresStored
        propose(proposed, isAsked: isAsked, replacing: mayHoldOlder) { finish.value() }
        return .later
    }

    func load(_ load: any Load, keeps redirect: CacheEntry, of request: LoadRequest) {
        // By now the task's own request is the next one.
        guard let cache = core.urlCache, let url = URL(string: request.urlText),
            let kept = response(of: redirect, at: url, like: nil)
        else { return }
        if type(of: cache) == URLCache.self { return keep(kept, in: cache, request) }
        var answered = URLRequest(url: url)
        answered.cookiePartitionIdentifier = request.partition
        core.loop.callOut(CalledOut { [answered] in cache.storeCachedResponse(kept, for: answered) })
    }

    func load(_ load: any Load, hasRefreshed entry: CacheEntry) {
        guard let cache = core.urlCache, let load = load as? HTTPLoad, let cached,
            let refreshed = response(of: entry, like: cached)
        else { return }
        if type(of: cache) == URLCache.self {
            if let key = load.request.cacheKey { cache.replace(cached, with: refreshed, for: key) }
            return
        }
        guard let task = heldTask as? URLSessionDataTask else { return }
        core.loop.callOut(CalledOut { cache.storeCachedResponse(refreshed, for: task) })
    }

    func load(_ load: any Load, hasOutdated keys: [CacheKey]) {
        guard let cache = core.urlCache else { return }
        if type(of: cache) == URLCache.self { return cache.remove(keys) }
        let requests = keys.compactMap { key in
            URL(string: key.address).map { url in
                var request = URLRequest(url: url)
                request.cookiePartitionIdentifier = currentRequest?.cookiePartitionIdentifier
                return request
            }
        }
        core.loop.callOut(CalledOut { for request in requests { cache.removeCachedResponse(for: request) } })
    }

    private func keep(_ response: CachedURLResponse, in cache: URLCache, _ request: LoadRequest) {
        if let key = request.cacheKey { cache.store(response, for: key) }
    }

    /// - Parameters:
    ///   - url: Of the request; nil for the task's own.
    ///   - old: What else is kept with it.
    private func response(
        of entry: CacheEntry, at url: URL? = nil, like old: CachedURLResponse?
    ) -> CachedURLResponse? {
        guard let url = url ?? currentRequest?.url else { return nil }
        let response = HTTPURLResponse(
            url: url, status: entry.response.status, version: "HTTP/1.1", fields: entry.response.fields,
            body: entry.body)
        return CachedURLResponse(
            response: response, data: entry.body, userInfo: old?.userInfo,
            storagePolicy: old?.storagePolicy ?? .allowed,
            facts: entry.response)
    }
}

extension CacheEntry {
    /// Nil for a response that is none of HTTP.
    fileprivate init?(_ cached: CachedURLResponse) {
        guard let facts = cached.facts else { return nil }
        self.init(response: facts, body: cached.data)
    }
}
