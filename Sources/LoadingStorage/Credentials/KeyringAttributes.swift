/// The attributes of a keyring item: all parts of a credential except the password.
///
/// Every item has all attributes, because a search also matches items with additional ones. Absent parts are empty
/// strings, and `given` lists the present ones.
struct KeyringAttributes: Sendable {
    private enum Name: String {
        case schema = "xdg:schema"
        case application, host, port
        case protocolName = "protocol"
        case realm
        case method = "authentication-method"
        case proxyType = "proxy-type"
        case user, given
        case isDefault = "default"
    }

    private var values: [(name: Name, value: String)]

    /// The attributes that all items of an application have.
    init(application: String) {
        values = [(.schema, "swift-url-loading.Credential"), (.application, Self.escaped(application))]
    }

    func with(_ identity: PersistentCredential.Identity) -> KeyringAttributes {
        let space = identity.space
        let optional: [(name: Name, value: String?)] = [
            (.protocolName, space.protocolName), (.realm, space.realm), (.method, space.authenticationMethod),
            (.proxyType, space.proxyType),
        ]
        var new = self
        new.values += [
            (.host, Self.escaped(space.host)), (.port, "\(space.port)"), (.user, Self.escaped(identity.user)),
        ]
        new.values += optional.map { ($0.name, Self.escaped($0.value ?? "")) }
        new.values.append((.given, optional.filter { $0.value != nil }.map(\.name.rawValue).joined(separator: " ")))
        return new
    }

    func with(isDefault: Bool) -> KeyringAttributes {
        var new = self
        new.values.append((.isDefault, isDefault ? "yes" : "no"))
        return new
    }

    /// Alternating names and values, terminated by nil.
    func withCStrings<Result>(_ body: ([UnsafePointer<CChar>?]) -> Result) -> Result {
        var bytes: [CChar] = []
        var starts: [Int] = []
        for text in values.flatMap({ [$0.name.rawValue, $0.value] }) {
            starts.append(bytes.count)
            bytes += text.utf8CString
        }
        return bytes.withUnsafeBufferPointer { bytes in
            body(starts.map { bytes.baseAddress?.advanced(by: $0) } + [nil])
        }
    }

    // MARK: Reading

    /// Returns nil if the item is not a credential.
    ///
    /// - Parameter value: Returns the value of an attribute.
    static func credential(password: String, _ value: (String) -> String?) -> PersistentCredential? {
        func text(_ name: Name) -> String? { value(name.rawValue).flatMap(unescaped) }
        guard let host = text(.host), let port = text(.port).flatMap({ Int($0) }), let user = text(.user),
            let given = text(.given)?.split(separator: " "), let isDefault = text(.isDefault)
        else { return nil }
        func optional(_ name: Name) -> String? { given.contains { $0 == name.rawValue } ? text(name) : nil }
        let space = PersistentCredential.Space(
            host: host, port: port, protocolName: optional(.protocolName), realm: optional(.realm),
            authenticationMethod: optional(.method), proxyType: optional(.proxyType))
        return PersistentCredential(space: space, user: user, password: password, isDefault: isDefault == "yes")
    }

    /// An attribute value must not contain NUL.
    static func escaped(_ text: String) -> String {
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case 0: bytes += "%00".utf8
            case UInt8(ascii: "%"): bytes += "%25".utf8
            default: bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    static func unescaped(_ text: String) -> String? {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            switch String(decoding: rest.prefix(2), as: UTF8.self) {
            case "00": bytes.append(0)
            case "25": bytes.append(byte)
            default: return nil
            }
            rest = rest.dropFirst(2)
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
