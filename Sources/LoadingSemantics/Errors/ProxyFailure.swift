internal import Glibc

/// Why a route through a proxy failed (PROXY-10).
package enum ProxyFailure: Error, Sendable, Equatable {
    /// The service that the proxy should have provided.
    package enum Service: Sendable, Equatable {
        /// Forwarding a request.
        case request
        case tunnel
        case socks
    }

    /// The settings contain no valid proxy.
    case unusableSettings(Service)
    /// No connection to the proxy, with the cause.
    case unreachable(Service, LoadError)
    /// The connection to an HTTP proxy was lost before the response to CONNECT.
    case tunnelLost
    /// The response to CONNECT is not valid HTTP. The text is the reason.
    case malformedTunnelResponse(String)
    /// The proxy refuses CONNECT. 407 means that no credentials are available (AUTH-28).
    case tunnelRefused(status: Int)
    /// The credentials cannot be encoded for the scheme.
    case badCredentials
    case socks(SOCKSFailure)
    /// The PAC script could not be loaded or run.
    case scriptFailed
    /// The server of the PAC script requires credentials.
    case scriptNeedsCredentials

    /// The error of the load if no other route is left.
    package var loadError: LoadError {
        LoadError(code: code, cause: cause)
    }

    /// Why there is no connection to the proxy, for `unreachable`.
    package var reason: LoadError? { if case .unreachable(_, let error) = self { error } else { nil } }

    /// The status of the response to CONNECT, for `tunnelRefused`.
    package var status: Int? { if case .tunnelRefused(let status) = self { status } else { nil } }

    /// Whether the next route may be tried. A decision of a proxy is final: other proxies are not asked to override it.
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

    /// −1004, but −1001 for timeouts, −1009 without a network, and −1003 for a host name that the protocol cannot
    /// encode.
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

/// The proxy that caused a failure, for error messages.
package struct FailedProxy: Sendable, Equatable {
    /// As in proxy environment variables, without credentials: `socks5://proxy.example:1080`.
    package let url: String
    /// The status of the response to CONNECT, if that was the failure.
    package let status: Int?

    package init(_ server: ProxyServer, status: Int? = nil) {
        url = server.url
        self.status = status
    }
}
