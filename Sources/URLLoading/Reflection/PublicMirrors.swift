public import Foundation
internal import LoadingSemantics

/// Without the password, which has no place in a log.
extension URLCredential: CustomReflectable {
    public var customMirror: Mirror {
        Mirror(
            self, children: ["user": user as Any, "persistence": persistence, "hasPassword": hasPassword],
            displayStyle: .class)
    }
}

/// Without what is stored.
extension URLCredentialStorage: CustomReflectable {
    public var customMirror: Mirror { Mirror(self, children: [:], displayStyle: .class) }
}

/// Without the password of an address, and without the values of fields that prove who somebody is.
extension URLResponse: CustomReflectable {
    public var customMirror: Mirror {
        var children: [(label: String?, value: Any)] = [
            ("url", url.map { URLReference.withoutPassword($0.absoluteString) } as Any),
            ("mimeType", mimeType as Any),
            ("expectedContentLength", expectedContentLength),
            ("textEncodingName", textEncodingName as Any),
        ]
        if let http = self as? HTTPURLResponse {
            let fields = http.headerFields
            let shown = (0..<fields.count).map { index in
                let name = fields.name(at: index)
                return "\(name): \(SecretFields.isSecret(name) ? "(hidden)" : fields.value(at: index))"
            }
            children += [("statusCode", http.statusCode), ("headerFields", shown)]
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

/// Without the value, which may be a secret.
extension HTTPCookie: CustomReflectable {
    public var customMirror: Mirror {
        Mirror(self, children: ["name": name, "domain": domain, "path": path], displayStyle: .class)
    }
}

/// Without what is stored.
extension HTTPCookieStorage: CustomReflectable {
    public var customMirror: Mirror { Mirror(self, children: [:], displayStyle: .class) }
}
