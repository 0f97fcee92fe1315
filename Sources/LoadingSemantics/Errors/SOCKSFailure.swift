/// Why a SOCKS proxy does not establish a connection.
package enum SOCKSFailure: Error, Sendable, Equatable {
    /// A reply code of SOCKS4.
    package enum Refusal4: Sendable, Equatable {
        /// 91: rejected or failed.
        case rejected
        /// 92: the proxy cannot reach identd on the client.
        case identityUnavailable
        /// 93: identd reports another user.
        case identityMismatch
        case unknown(UInt8)

        package init(code: UInt8) {
            switch code {
            case 91: self = .rejected
            case 92: self = .identityUnavailable
            case 93: self = .identityMismatch
            default: self = .unknown(code)
            }
        }
    }

    /// A reply code of SOCKS5 (RFC 1928 §6).
    package enum Refusal5: Sendable, Equatable {
        /// 1
        case generalFailure
        /// 2: forbidden by the rules of the proxy.
        case notAllowed
        /// 3
        case networkUnreachable
        /// 4
        case hostUnreachable
        /// 5
        case connectionRefused
        /// 6: many proxies also use it for timeouts.
        case timeToLiveExpired
        /// 7
        case commandNotSupported
        /// 8
        case addressTypeNotSupported
        case unknown(UInt8)

        package init(code: UInt8) {
            switch code {
            case 1: self = .generalFailure
            case 2: self = .notAllowed
            case 3: self = .networkUnreachable
            case 4: self = .hostUnreachable
            case 5: self = .connectionRefused
            case 6: self = .timeToLiveExpired
            case 7: self = .commandNotSupported
            case 8: self = .addressTypeNotSupported
            default: self = .unknown(code)
            }
        }
    }

    // Detected before anything is sent.
    /// The host name is empty, too long for the protocol, or contains the NUL that terminates it.
    case unencodableHost
    case unencodableCredential
    /// SOCKS4 does not support IPv6.
    case addressNotSupported

    // Reported by the proxy.
    /// The proxy has another version of SOCKS, or is no SOCKS proxy.
    case unsupportedVersion(UInt8)
    /// The proxy accepts no offered authentication method.
    case noAcceptableMethod
    /// The proxy selected a method that was not offered.
    case unsupportedMethod(UInt8)
    case badCredentials
    /// An unknown address type, so the length of the reply is unknown.
    case unsupportedAddressType(UInt8)
    case refused4(Refusal4)
    case refused5(Refusal5)
    /// The connection was lost before the reply.
    case connectionLost

    /// The code in Apple's `kCFErrorDomainCFNetwork`, or nil. Apple has no codes for SOCKS5 replies, so refusals use
    /// the code for a bad state.
    var cfNetworkNumber: Int? {
        switch self {
        case .unencodableHost, .connectionLost: nil
        case .unsupportedVersion: 101
        case .refused4(.rejected): 110
        case .refused4(.identityUnavailable): 111
        case .refused4(.identityMismatch): 112
        case .refused4(.unknown): 113
        case .refused5(.addressTypeNotSupported), .unsupportedAddressType, .addressNotSupported: 121
        case .refused5: 120
        case .badCredentials, .unencodableCredential: 122
        case .unsupportedMethod: 123
        case .noAcceptableMethod: 124
        }
    }
}
