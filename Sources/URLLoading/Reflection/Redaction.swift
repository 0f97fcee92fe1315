internal import Foundation
internal import LoadingSemantics

/// Without the password, because mirrors are written to logs.
extension URLCredential: CustomReflectable {
    public var customMirror: Mirror {
        Mirror(
            self, children: ["user": user as Any, "persistence": persistence, "hasPassword": hasPassword],
            displayStyle: .class)
    }
}

/// Without the stored contents.
extension URLCredentialStorage: CustomReflectable {
    public var customMirror: Mirror { Mirror(self, children: [:], displayStyle: .class) }
}

/// Without the password of the URL and the values of secret fields.
extension URLResponse: CustomReflectable {
    /// The URL as descriptions show it.
    var shownURL: String? { url.map { URLReference.withoutPassword($0.absoluteString) } }

    public var customMirror: Mirror {
        var children: [(label: String?, value: Any)] = [
            ("url", shownURL as Any),
            ("mimeType", mimeType as Any),
            ("expectedContentLength", expectedContentLength),
            ("textEncodingName", textEncodingName as Any),
        ]
        if let http = self as? HTTPURLResponse {
            children += [("statusCode", http.statusCode), ("headerFields", http.shownFields)]
        }
        return Mirror(self, children: children, displayStyle: .class)
    }
}

/// Without the body.
extension CachedURLResponse: CustomReflectable {
    public var customMirror: Mirror {
        Mirror(
            self, children: ["response": response, "data": "\(data.count) bytes", "storagePolicy": storagePolicy],
            displayStyle: .class)
    }
}

/// Without the value, which may be secret.
extension HTTPCookie: CustomReflectable {
    public var customMirror: Mirror {
        Mirror(self, children: ["name": name, "domain": domain, "path": path], displayStyle: .class)
    }
}

/// Without the stored contents.
extension HTTPCookieStorage: CustomReflectable {
    public var customMirror: Mirror { Mirror(self, children: [:], displayStyle: .class) }
}

/// Types that `dump` and `Mirror` must not traverse, because they lead to passwords, header fields and cookies.
protocol HiddenFromReflection: CustomReflectable {}

extension HiddenFromReflection {
    package var customMirror: Mirror { Mirror(self, children: EmptyCollection<Mirror.Child>()) }
}

extension SessionCore: HiddenFromReflection {}
extension TaskCore: HiddenFromReflection {}
extension ProtocolSource: HiddenFromReflection {}
extension SessionValues: HiddenFromReflection {}
extension RequestStorage: HiddenFromReflection {}

extension SecretFields {
    /// The fields, with the values of secret ones replaced.
    static func hidden(in fields: [String: String]?) -> [String: String]? {
        guard let fields else { return nil }
        return Dictionary(uniqueKeysWithValues: fields.map { ($0, shown($1, of: $0)) })
    }
}
