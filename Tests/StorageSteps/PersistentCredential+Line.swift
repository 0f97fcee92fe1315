package import LoadingStorage

/// Credentials as one line of text, for another process.
extension PersistentCredential {
    /// Nine words of hexadecimal digits behind a mark, by which no text is not the empty one.
    package var line: String {
        let texts: [String?] = [
            space.host, "\(space.port)", space.protocolName, space.realm, space.authenticationMethod, space.proxyType,
            user, password, isDefault ? "default" : nil,
        ]
        return texts.map { text in
            text.map { "=" + $0.utf8.map { String(256 + Int($0), radix: 16).dropFirst() }.joined() } ?? "-"
        }.joined(separator: " ")
    }

    package init?(line: String) {
        let texts = line.split(separator: " ").map { word -> String? in
            if word == "-" { return nil }
            var bytes: [UInt8] = []
            var rest = word.dropFirst()
            while !rest.isEmpty {
                bytes.append(UInt8(rest.prefix(2), radix: 16) ?? 0)
                rest = rest.dropFirst(2)
            }
            return String(decoding: bytes, as: UTF8.self)
        }
        guard texts.count == 9, let host = texts[0], let port = texts[1].flatMap({ Int($0) }), let user = texts[6],
            let password = texts[7]
        else { return nil }
        let space = Space(
            host: host, port: port, protocolName: texts[2], realm: texts[3], authenticationMethod: texts[4],
            proxyType: texts[5])
        self.init(space: space, user: user, password: password, isDefault: texts[8] != nil)
    }
}
