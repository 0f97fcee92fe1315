internal import Foundation
internal import LoadingEvents
internal import LoadingPipeline
internal import LoadingSemantics
internal import LoadingTransport

/// The cookie storage of a session, for the engine. Confined to the session's loop.
///
/// A plain storage is used on the loop, which takes only a lock; before its file is read it answers later. A subclass
/// is the program's code: it is called with the loop lent, like delegates, and may answer later.
final class SessionCookies: CookieStore {
    private let storage: HTTPCookieStorage?
    private let isPlain: Bool
    private let areSent: Bool
    private let policy: CookieAcceptPolicy
    private let loop: EventLoop

    init(_ configuration: SessionValues, on loop: EventLoop) {
        self.loop = loop
        storage = configuration.httpCookieStorage
        isPlain = storage.map { type(of: $0) == HTTPCookieStorage.self } ?? false
        areSent = configuration.httpShouldSetCookies
        policy = CookieAcceptPolicy(configuration.httpCookieAcceptPolicy)
    }

    func cookies(for load: HTTPLoad) -> ClientAnswer<String?> {
        let url = load.request.url
        // The suffix list is needed for cookies, and for HSTS of secure hosts.
        if storage != nil || url.scheme.isSecure, !PublicSuffixes.system.isLoaded(for: url.host) {
            PublicSuffixes.readSystem()
        }
        guard let storage, areSent else { return .now(nil) }
        return isPlain ? cookies(for: load, ofPlain: storage) : cookies(for: load, ofSubclass: storage)
    }

    private func cookies(for load: HTTPLoad, ofPlain storage: HTTPCookieStorage) -> ClientAnswer<String?> {
        guard storage.isEmptyIfLoaded != true, let request = cookieRequest(of: load) else { return .now(nil) }
        if storage.isLoaded(for: request) {
            noteExcluded(for: request, in: storage, log: load.log)
            return .now(storage.field(for: request))
        }
        let lookup = load.makeCookieLookup()
        storage.whenLoaded(for: request) { lookup.answer(storage.field(for: request)) }
        return .later
    }

    private func cookies(for load: HTTPLoad, ofSubclass storage: HTTPCookieStorage) -> ClientAnswer<String?> {
        guard let task = load.client as? TaskCore, let shown = task.currentRequest, shown.httpShouldHandleCookies else {
            return .now(nil)
        }
        // The storage is queried with the task, so with the task's URL, and not for an upload's requests to another
        // host.
        let url = load.request.url
        guard let object = task.heldTask, let target = CookieRequest(shown)?.url, target.scheme == url.scheme,
            target.host == url.host
        else { return .now(nil) }
        let lookup = load.makeCookieLookup()
        let question = CalledOut {
            storage.getCookiesFor(object) { cookies in
                lookup.answer(HTTPCookie.requestHeaderFields(with: cookies ?? [])["Cookie"])
            }
        }
        // The storage may still be storing the cookies of the previous response.
        if task.cookieStorings > 0 { task.awaitedLookup = question } else { task.core.loop.callOut(question) }
        return .later
    }

    /// What determines the cookies of a load; nil if it has none.
    private func cookieRequest(of load: HTTPLoad) -> CookieRequest? {
        if let task = load.client as? TaskCore {
            guard let shown = task.currentRequest, shown.httpShouldHandleCookies else { return nil }
            return CookieRequest(load.request, document: shown.mainDocumentURL)
        }
        guard let transfer = load.client as? Transfer, transfer.request.usesCookies else { return nil }
        return CookieRequest(load.request, document: transfer.request.document.flatMap { URL(string: $0) })
    }

    /// At most `mostNoted`, since a site may have many.
    private func noteExcluded(for request: CookieRequest, in storage: HTTPCookieStorage, log: EventLog?) {
        guard let log, log.isTraced else { return }
        for (cookie, exclusion) in storage.excludedCookies(for: request).prefix(Self.mostNoted) {
            log.traceOnly(
                .cookieDecision(name: Self.shown(cookie.name), decision: "withheld", reason: exclusion.reason))
        }
    }

    private static let mostNoted = 50

    private static func shown(_ name: some StringProtocol) -> String { TraceText.line(String(name.prefix(64))) }

    private func receive(
        _ fields: [String], from request: CookieRequest, in storage: HTTPCookieStorage, log: EventLog?
    ) -> Bool {
        guard let log, log.isTraced else { return storage.receive(fields, from: request, policy: policy) }
        var outcomes: [CookieOutcome] = []
        let isChanged = storage.receive(fields, from: request, policy: policy) { outcomes.append($0) }
        for (field, outcome) in zip(fields, outcomes) {
            // Values are secret, and a field without a name may be one.
            let pair = field.prefix { $0 != ";" }
            let name = pair.firstIndex(of: "=").map { pair[..<$0].trimmingCharacters(in: .whitespaces) } ?? ""
            var reason: String?
            if case .refused(let refusal) = outcome { reason = refusal.reason }
            log.traceOnly(.cookieDecision(name: Self.shown(name), decision: outcome.word, reason: reason))
        }
        return isChanged
    }

    func receive(_ fields: [String], for load: HTTPLoad) {
        // C-25, COOK-21
        guard let storage, let request = cookieRequest(of: load) else { return }
        if isPlain {
            guard storage.isLoaded(for: request) else {
                return storage.receiveWhenLoaded(fields, from: request, policy: policy)
            }
            guard receive(fields, from: request, in: storage, log: load.log) else { return }
            return loop.callOut(CalledOut { storage.announceChange() })
        }
        guard policy.accepts(request), let task = load.client as? TaskCore, let object = task.heldTask else { return }
        let now = HTTPCookieStorage.now
        let cookies = fields.compactMap { field in
            (try? Cookie(SetCookie(field), from: request, at: now)).map { HTTPCookie($0, from: request) }
        }
        if cookies.isEmpty { return }
        task.cookieStorings += 1
        loop.callOut(
            CalledOut { [loop] in
                storage.storeCookies(cookies, for: object)
                loop.post { task.cookiesAreStored() }
            })
    }
}

extension TaskCore {
    fileprivate func cookiesAreStored() {
        cookieStorings -= 1
        guard cookieStorings == 0, let lookup = awaitedLookup else { return }
        awaitedLookup = nil
        loop.callOut(lookup)
    }
}
