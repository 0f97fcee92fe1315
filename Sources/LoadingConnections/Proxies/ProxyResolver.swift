internal import CLoadingProxies
internal import Glibc
package import LoadingSemantics
package import LoadingTransport

/// Determines the route to a server from PAC scripts and the desktop's settings, on its own threads, because both
/// block. Answers are cached for a while.
package final class ProxyResolver: Sendable {
    package static let shared = ProxyResolver(
        askScript: { PACScriptRun.answer(of: $0, to: $1) }, askDesktop: { DesktopProxies.route(for: $0) })

    private let scripts: InFlightQueries<ProxyResolutionCache>
    private let desktop: InFlightQueries<ProxyResolutionCache>

    private static let mostScripts = 4

    package init(
        askScript: @escaping @Sendable (_ source: String, _ query: ProxyQuery) -> ProxyResolution,
        askDesktop: @escaping @Sendable (ProxyQuery) -> ProxyResolution
    ) {
        let ask: @Sendable (ProxyResolverQuery) -> ProxyResolution = { question in
            switch question.source {
            case .script(let script): askScript(script.content, question.query)
            case .desktop: askDesktop(question.query)
            }
        }
        scripts = ProxyResolutionCache.queries(
            mostThreads: Self.mostScripts, idleSeconds: TimeLimits.standard.resolverThreadIdle, name: "url-script",
            unavailable: .nothing, ask: ask)
        // libproxy must be used by one thread at a time.
        desktop = ProxyResolutionCache.queries(
            mostThreads: 1, idleSeconds: TimeLimits.standard.resolverThreadIdle, name: "url-desktop",
            unavailable: .nothing, ask: ask)
    }

    /// Whether a script engine is available on this machine. May block for a moment on first use.
    package static var runsScripts: Bool { clx_has_engine() }

    /// Whether a library that reads the desktop's settings is available. May block for a moment on first use.
    package static var knowsDesktop: Bool { clx_has_desktop() }

    /// Calls `answer` on `loop`, once, never before this returns, and not after the ticket is withdrawn.
    package func ask(
        script: PACScriptText?, _ query: ProxyQuery, on loop: EventLoop,
        answer: @escaping @Sendable (ProxyResolution) -> Void
    ) -> QueryTicket {
        let question = ProxyResolverQuery(source: script.map { .script($0) } ?? .desktop, query: query)
        return (script == nil ? desktop : scripts).ask(question, on: loop) { resolution, _ in answer(resolution) }
    }

    package func forgetAnswers() {
        scripts.forgetAnswers()
        desktop.forgetAnswers()
    }
}

/// A query for the route to a server: to a PAC script or the desktop's settings.
struct ProxyResolverQuery: Hashable, Sendable {
    enum Source: Hashable, Sendable {
        case script(PACScriptText)
        case desktop
    }

    let source: Source
    let query: ProxyQuery
}

/// The result of a query.
package enum ProxyResolution: Sendable, Equatable {
    case route(ProxyRouteList)
    /// No usable answer.
    case nothing
    /// The script exceeded its time or another limit.
    case timedOut
}

/// The desktop's proxy settings, read with libproxy. May block for any time; only one thread may use it at a time.
enum DesktopProxies {
    static func route(for query: ProxyQuery) -> ProxyResolution {
        guard let text = clx_ask_desktop(query.url) else { return .nothing }
        defer { free(text) }
        return .route(ProxyRouteList(desktop: String(cString: text)))
    }
}
