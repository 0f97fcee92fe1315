internal import CLoadingProxies
internal import Glibc
package import LoadingSemantics
package import LoadingTransport

/// Asks scripts, and the settings of the desktop, which way leads to a server: on threads of its own, since both take their
/// time. What was said is remembered for a while.
package final class ProxyResolver: Sendable {
    package static let shared = ProxyResolver(
        askScript: { ScriptRun.answer(of: $0, to: $1) }, askDesktop: { DesktopProxies.route(for: $0) })

    /// Identifies one request for an answer.
    package struct Ticket: Sendable {
        fileprivate let place: InFlightQueries<ProxyResolutionCache>.Ticket
        fileprivate let isOfScript: Bool
    }

    private let scripts: InFlightQueries<ProxyResolutionCache>
    private let desktop: InFlightQueries<ProxyResolutionCache>

    private static let mostScripts = 4

    package init(
        askScript: @escaping @Sendable (_ source: String, _ inquiry: ProxyQuery) -> ProxyResolution,
        askDesktop: @escaping @Sendable (ProxyQuery) -> ProxyResolution
    ) {
        let ask: @Sendable (ProxyResolverQuery) -> ProxyResolution = { question in
            switch question.adviser {
            case .script(let script): askScript(script.content, question.inquiry)
            case .desktop: askDesktop(question.inquiry)
            }
        }
        scripts = InFlightQueries(
            mostThreads: Self.mostScripts, idleSeconds: TimeLimits.standard.resolverThreadIdle, name: "url-script",
            unavailable: .nothing, ask: ask)
        // libproxy is used by one thread at a time.
        desktop = InFlightQueries(
            mostThreads: 1, idleSeconds: TimeLimits.standard.resolverThreadIdle, name: "url-desktop",
            unavailable: .nothing, ask: ask)
    }

    /// Whether scripts can be run on this machine. May take a moment, the first time.
    package static var runsScripts: Bool { clx_has_engine() }

    /// Whether there is something that knows the settings of the desktop. May take a moment, the first time.
    package static var knowsDesktop: Bool { clx_has_desktop() }

    /// Answers on `loop`, once and never before returning, unless the ticket is given back before.
    package func ask(
        script: ProxyScriptText?, _ inquiry: ProxyQuery, on loop: EventLoop,
        answer: @escaping @Sendable (ProxyResolution) -> Void
    ) -> Ticket {
        let question = ProxyResolverQuery(adviser: script.map { .script($0) } ?? .desktop, inquiry: inquiry)
        let line = script == nil ? desktop : scripts
        return Ticket(
            place: line.ask(question, on: loop) { advice, _ in answer(advice) }, isOfScript: script != nil)
    }

    /// The answer is not wanted any more.
    package func withdraw(_ ticket: Ticket) {
        (ticket.isOfScript ? scripts : desktop).withdraw(ticket.place)
    }

    package func forgetAnswers() {
        scripts.forgetAnswers()
        desktop.forgetAnswers()
    }
}

/// A query for the route to a server: to a PAC script or the desktop's settings.
struct ProxyResolverQuery: Hashable, Sendable {
    enum Adviser: Hashable, Sendable {
        case script(ProxyScriptText)
        case desktop
    }

    let adviser: Adviser
    let inquiry: ProxyQuery
}

/// What the adviser has said.
package enum ProxyResolution: Sendable, Equatable {
    case route(ProxyRouteList)
    /// Nothing that anybody understands.
    case nothing
    /// No answer in time.
    case silence
}

/// The settings of the desktop, as libproxy knows them. It may take any time, and is asked by one thread at a time.
enum DesktopProxies {
    static func route(for inquiry: ProxyQuery) -> ProxyResolution {
        guard let text = clx_ask_desktop(inquiry.url) else { return .nothing }
        defer { free(text) }
        return .route(ProxyRouteList(desktop: String(cString: text)))
    }
}
