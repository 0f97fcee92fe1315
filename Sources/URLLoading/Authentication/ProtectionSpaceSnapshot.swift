internal import Foundation
internal import LoadingStorage

/// A protection space with its properties read in advance. Creating it may run the program's code; comparing does not.
struct ProtectionSpaceSnapshot {
    struct Values: Hashable {
        /// The space in the file: Unicode-composed (NFC), because files and keyrings compare bytes.
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
