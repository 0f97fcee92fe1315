package import Foundation

/// The contents of a certificate.
package struct CertificateProfile: Sendable {
    /// An entry of the subject alternative name extension.
    package enum Name: Sendable, Hashable, ExpressibleByStringLiteral {
        case dns(String)
        /// The four or sixteen bytes of an address.
        case address([UInt8])
        case uri(String)
        case mail(String)
        /// A DNS name of arbitrary bytes, for invalid names.
        case rawDNS([UInt8])

        /// An IP address if the text is one, otherwise a DNS name.
        package init(_ text: String) {
            self = Self.addressBytes(text).map(Name.address) ?? .dns(text)
        }

        package init(stringLiteral value: String) {
            self.init(value)
        }

        private static func addressBytes(_ text: String) -> [UInt8]? {
            for (family, count) in [(AF_INET, 4), (AF_INET6, 16)] {
                var bytes = [UInt8](repeating: 0, count: count)
                if inet_pton(family, text, &bytes) == 1 { return bytes }
            }
            return nil
        }
    }

    /// A purpose of the extended key usage extension.
    package enum Purpose: Sendable, Hashable {
        case serverAuthentication
        case clientAuthentication
        case codeSigning
        case other(objectIdentifier: String)

        var objectIdentifier: String {
            switch self {
            case .serverAuthentication: "1.3.6.1.5.5.7.3.1"
            case .clientAuthentication: "1.3.6.1.5.5.7.3.2"
            case .codeSigning: "1.3.6.1.5.5.7.3.3"
            case .other(let objectIdentifier): objectIdentifier
            }
        }
    }

    package enum Validity: Sendable, Hashable {
        /// From an hour ago for thirty days.
        case current
        /// Ended yesterday.
        case expired
        /// Begins tomorrow.
        case notYetValid
        case between(Date, Date)

        /// Seconds since 1970.
        var bounds: (notBefore: Int64, notAfter: Int64) {
            let now = Int64(Date().timeIntervalSince1970)
            let day: Int64 = 86_400
            return switch self {
            case .current: (now - 3_600, now + 30 * day)
            case .expired: (now - 30 * day, now - day)
            case .notYetValid: (now + day, now + 30 * day)
            case .between(let start, let end): (Int64(start.timeIntervalSince1970), Int64(end.timeIntervalSince1970))
            }
        }
    }

    package enum Digest: String, Sendable, Hashable {
        case md5 = "MD5"
        case sha1 = "SHA1"
        case sha256 = "SHA256"
        case sha384 = "SHA384"
    }

    package var commonName: String?
    /// If empty, the extension is omitted, and only the common name remains.
    package var names: [Name]
    package var validity = Validity.current
    package var key = TestPrivateKey.Kind.ellipticP256
    package var digest = Digest.sha256
    /// If empty, the extension is omitted.
    package var purposes: [Purpose]
    package var isAuthority = false
    /// The path length constraint.
    package var pathLength: Int?
    /// Further extensions in OpenSSL's notation, by name or object identifier. `keyUsage` and `basicConstraints`
    /// replace the default ones; empty values omit them.
    package var extensions: [String: String] = [:]
    /// The X.509 version. Below 3 there are no extensions.
    package var version = 3

    package init(commonName: String? = nil, names: [Name] = [], purposes: [Purpose] = []) {
        self.commonName = commonName
        self.names = names
        self.purposes = purposes
    }

    /// A server's certificate for names and addresses.
    package static func server(_ names: Name...) -> Self {
        Self(commonName: "Test Server", names: names, purposes: [.serverAuthentication])
    }

    /// A legacy certificate with the host name in the common name only.
    package static func serverByCommonName(_ name: String) -> Self {
        Self(commonName: name, purposes: [.serverAuthentication])
    }

    /// For a server on loopback: `localhost`, `127.0.0.1` and `::1`.
    package static var localhost: Self { .server("localhost", "127.0.0.1", "::1") }

    package static func client(_ commonName: String) -> Self {
        Self(commonName: commonName, purposes: [.clientAuthentication])
    }

    package static func authority(_ commonName: String, pathLength: Int? = nil) -> Self {
        var profile = Self(commonName: commonName)
        profile.isAuthority = true
        profile.pathLength = pathLength
        return profile
    }

    /// A changed copy: `.localhost.with { $0.validity = .expired }`.
    package func with(_ change: (inout Self) -> Void) -> Self {
        var copy = self
        change(&copy)
        return copy
    }
}
