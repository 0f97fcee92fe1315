package import LoadingSemantics

/// Which way leads to a server, asked of somebody who takes his time.
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
    /// Nothing in the time that he has.
    case silence
}
