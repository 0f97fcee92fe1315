internal import Foundation
internal import LoadingStorage

/// A protection space, with what it says of itself. To make one may call the caller's code, which to compare two of them does
/// not.
struct KnownSpace {
    struct Values: Hashable {
        /// As a file has it: composed, since files and keyrings compare texts by their bytes.
        var stored: PersistentCredential.Space
        var distinguishedNames: [Data]?

        init(_ stored: PersistentCredential.Space) { self.stored = stored }

        init(_ space: URLProtectionSpace) {
            stored = PersistentCredential.Space(
                host: space.host.precomposedStringWithCanonicalMapping, port: space.port,
                protocolName: space.protocol, realm: space.realm?.precomposedStringWithCanonicalMapping,
                authenticationMethod: space.authenticationMethod, proxyType: space.proxyType)
            distinguishedNames = space.distinguishedNames
        }
    }

    let object: URLProtectionSpace
    let values: Values

    init(_ space: URLProtectionSpace) {
        object = space
        values = Values(space)
    }

    init(_ stored: PersistentCredential.Space) {
        object = URLProtectionSpace(stored)
        values = Values(stored)
    }
}

extension URLProtectionSpace {
    fileprivate convenience init(_ space: PersistentCredential.Space) {
        if let type = space.proxyType {
            self.init(
                proxyHost: space.host, port: space.port, type: type, realm: space.realm,
                authenticationMethod: space.authenticationMethod)
        } else {
            self.init(
                host: space.host, port: space.port, protocol: space.protocolName, realm: space.realm,
                authenticationMethod: space.authenticationMethod)
        }
    }
}
