internal import Glibc

/// Why a way through a proxy could not be gone (PROXY-10).
package enum ProxyFailure: Error, Sendable, Equatable {
    /// What the proxy was to do.
    package enum Service: Sendable, Equatable {
        /// To load a URL itself.
        case request
        case tunnel
        case socks
    }

    /// The settings name a proxy that there cannot be.
    case unusableSettings(Service)
    /// There is no connection to the proxy, for that reason.
    case unreachable(Service, LoadError)
    /// The connection to an HTTP proxy ended before it had answered CONNECT.
    case tunnelLost
    /// The answer to CONNECT is no HTTP; the reason in words.
    case malformedTunnelResponse(String)
    /// The proxy makes no tunnel. 407 when nobody can say who the user is (AUTH-28).
    case tunnelRefused(status: Int)
    /// The credentials cannot be written as the proxy wants them.
    case badCredentials
    case socks(SOCKSFailure)
    /// The script that picks the proxies could not be loaded or run.
    case scriptFailed
    /// Where that script is, the user has to say who he is.
    case scriptNeedsCredentials

    /// What becomes of the load when no other way is left.
    package var loadError: LoadError {
        LoadError(code: code, cause: cause)
    }

    /// Why there is no connection to the proxy, if that is it.
    package var reason: LoadError? { if case .unreachable(_, let error) = self { error } else { nil } }

    /// What the proxy has answered CONNECT with, if that is it.
    package var status: Int? { if case .tunnelRefused(let status) = self { status } else { nil } }

    /// Whether the next way of a route may be tried. What a proxy has decided, no other one is asked to decide again.
    package var permitsNextRoute: Bool {
        switch self {
        case .unusableSettings, .unreachable, .tunnelLost, .malformedTunnelResponse: true
        case .tunnelRefused, .badCredentials, .scriptFailed, .scriptNeedsCredentials: false
        case .socks(let failure):
            switch failure {
            case .connectionLost, .unsupportedVersion, .noAcceptableMethod, .unsupportedMethod, .unsupportedAddressType,
                .addressNotSupported, .refused5(.commandNotSupported), .refused5(.addressTypeNotSupported):
                true
            case .unencodableHost, .unencodableCredential, .badCredentials, .refused4, .refused5: false
            }
        }
    }

    /// −1004, and −1001 if somebody has waited in vain. Without a network it is not the proxy that is missing, and one
    /// that cannot be told any name of the host has not found it.
    private var code: Int {
        switch self {
        case .unreachable(_, let error) where error.code == -1001 || error.code == -1009: error.code
        case .tunnelRefused(status: 504), .socks(.refused5(.timeToLiveExpired)): -1001
        case .socks(.unencodableHost): -1003
        default: -1004
        }
    }

    private var cause: LoadError.Cause? {
        switch self {
        case .unusableSettings(.request), .unreachable(.request, _): .cfNetwork(306)
        case .unusableSettings(.tunnel), .unreachable(.tunnel, _), .tunnelLost: .cfNetwork(310)
        case .unusableSettings(.socks): nil
        case .unreachable(.socks, let error): error.cause
        case .malformedTunnelResponse: .cfNetwork(311)
        case .tunnelRefused(status: 407): .cfNetwork(310)
        case .tunnelRefused: .cfNetwork(311)
        case .badCredentials: .cfNetwork(307)
        case .socks(.connectionLost): .posix(ECONNRESET)
        case .socks(let failure): failure.cfNetworkNumber.map(LoadError.Cause.cfNetwork)
        case .scriptFailed: .cfNetwork(308)
        case .scriptNeedsCredentials: .cfNetwork(309)
        }
    }
}
