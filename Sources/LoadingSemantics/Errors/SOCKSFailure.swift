/// Why a SOCKS proxy does not take a connection on.
package enum SOCKSFailure: Error, Sendable, Equatable {
    /// The reply of a SOCKS4 proxy.
    package enum Refusal4: Sendable, Equatable {
        /// 91: rejected, or failed.
        case rejected
        /// 92: nobody at the client's says who the user is.
        case identityUnavailable
        /// 93: the user is another one than the client says.
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

    /// The reply of a SOCKS5 proxy (RFC 1928 §6).
    package enum Refusal5: Sendable, Equatable {
        /// 1
        case generalFailure
        /// 2: by the proxy's rules.
        case notAllowed
        /// 3
        case networkUnreachable
        /// 4
        case hostUnreachable
        /// 5
        case connectionRefused
        /// 6: many say so when they have waited long enough.
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

    // Found before anything is sent.
    /// Empty, longer than the protocol can say, or with a NUL where that would end it.
    case unencodableHost
    case unencodableCredential
    /// SOCKS4 knows no IPv6.
    case addressNotSupported

    // Said by the proxy.
    /// It speaks another version, or no SOCKS at all.
    case unsupportedVersion(UInt8)
    /// It wants none of the ways to say who the user is.
    case noAcceptableMethod
    /// It wants one that was not offered.
    case unsupportedMethod(UInt8)
    case badCredentials
    /// A kind of address that nobody knows, so that the end of the reply cannot be found.
    case unsupportedAddressType(UInt8)
    case refused4(Refusal4)
    case refused5(Refusal5)
    /// The connection ended before the proxy had answered.
    case connectionLost

    /// The number in Apple's `kCFErrorDomainCFNetwork`, or nil. For what a SOCKS5 proxy has refused Apple has none of its
    /// own; it is told as a state that allows no more.
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
