internal import Foundation
internal import LoadingPipeline
internal import LoadingSemantics
internal import LoadingTransport

/// The cookies of a task's requests and responses.
///
/// A plain storage is asked on the loop, where it costs a lock; until its file has been read it answers later. A subclass
/// is the caller's code: it is called with the loop lent, as delegates are, and may answer later.
extension TaskCore {
    /// Nil if the task neither sends nor keeps cookies (C-25, COOK-21).
    private var cookieStorage: HTTPCookieStorage? {
        guard let storage = core.configuration.httpCookieStorage, currentRequest?.httpShouldHandleCookies != false
        else { return nil }
        return storage
    }

    func load(_ load: any Load, cookiesFor request: LoadRequest) -> ClientAnswer<String?> {
        let storage = core.configuration.httpCookieStorage
        // Cookies need the list, and what the host of a secure connection may say of itself (HSTS).
        if storage != nil || request.url.scheme.isSecure, !PublicSuffixes.system.isAtHand(for: request.url.host) {
            PublicSuffixes.readSystem()
        }
        guard let storage, core.configuration.httpShouldSetCookies else { return .now(nil) }
        let isPlain = type(of: storage) == HTTPCookieStorage.self
        if isPlain, storage.isEmptyAtHand == true { return .now(nil) }
        guard let shown = currentRequest, shown.httpShouldHandleCookies else { return .now(nil) }
        if isPlain {
            let origin = CookieRequest(request, document: shown.mainDocumentURL)
            if storage.isAtHand(for: origin) { return .now(storage.field(for: origin)) }
            guard let load = load as? HTTPLoad else { return .now(nil) }
            // A disk may never answer, and is not to keep a load that is over.
            let provide = LoopBox({ [weak load] (field: String?) in load?.provideCookies(field) })
            storage.whenAtHand(for: origin) { [core] in
                let field = storage.field(for: origin)
                core.loop.post { provide.value(field) }
            }
            return .later
        }
        // It is asked by the task, and so by the task's address: not for what an upload sends to another place.
        guard let task = heldTask, let load = load as? HTTPLoad, let target = CookieRequest(shown)?.url,
            target.scheme == request.url.scheme, target.host == request.url.host
        else { return .now(nil) }
        let provide = LoopBox({ (field: String?) in load.provideCookies(field) })
        let lookup = StoreLookup<[HTTPCookie]?> {
            storage.getCookiesFor(task, completionHandler: $0)
        } answer: { [core] cookies in
            let field = HTTPCookie.requestHeaderFields(with: cookies ?? [])["Cookie"]
            core.loop.post { provide.value(field) }
        }
        // A storage that takes its time may still be at what the response before has set.
        if cookieKeepings > 0 { awaitedLookup = lookup } else { core.loop.callOut(lookup) }
        return .later
    }

    private func cookiesAreKept() {
        cookieKeepings -= 1
        guard cookieKeepings == 0, let lookup = awaitedLookup else { return }
        awaitedLookup = nil
        core.loop.callOut(lookup)
    }

    func load(_ load: any Load, didReceiveCookies fields: [String], for request: LoadRequest) {
        guard let storage = cookieStorage else { return }
        let policy = CookieAcceptPolicy(core.configuration.httpCookieAcceptPolicy)
        let origin = CookieRequest(request, document: currentRequest?.mainDocumentURL)
        if type(of: storage) == HTTPCookieStorage.self {
            guard storage.isAtHand(for: origin) else {
                return storage.receiveWhenAtHand(fields, from: origin, policy: policy)
            }
            guard storage.receive(fields, from: origin, policy: policy) else { return }
            return core.loop.callOut(CalledOut { storage.announceChange() })
        }
        guard policy.accepts(origin), let task = heldTask else { return }
        let now = HTTPCookieStorage.now
        let cookies = fields.compactMap { field in
            (try? Cookie(SetCookie(field), from: origin, at: now)).map { HTTPCookie($0, from: origin) }
        }
        if cookies.isEmpty { return }
        cookieKeepings += 1
        core.loop.callOut(
            CalledOut { [self] in
                storage.storeCookies(cookies, for: task)
                core.loop.post { self.cookiesAreKept() }
            })
    }
}
