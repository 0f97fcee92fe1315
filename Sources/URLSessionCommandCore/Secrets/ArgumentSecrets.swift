#if canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// The secrets of a command line, which every user of the machine sees in the list of processes.
package enum ArgumentSecrets {
    /// Overwrites the secrets in the program's arguments with blanks. To be called once, before other threads run.
    ///
    /// - Parameter arguments: Those that the system gave to the program, without its name.
    package static func hide(in arguments: UnsafeMutableBufferPointer<UnsafeMutablePointer<CChar>?>) {
        for (index, range) in ranges(in: arguments.map(text)) {
            guard let argument = arguments[index] else { continue }
            memset(argument + range.lowerBound, 0x20, range.count)
        }
    }

    /// With as many bytes as the argument, which may be no UTF-8.
    private static func text(of argument: UnsafeMutablePointer<CChar>?) -> String {
        guard let argument else { return "" }
        let bytes = UnsafeRawBufferPointer(start: argument, count: strlen(argument))
        return String(decoding: bytes.map { $0 < 0x80 ? $0 : UInt8(ascii: "_") }, as: UTF8.self)
    }

    /// Where secrets are: the index of an argument, and their bytes.
    static func ranges(in arguments: [String]) -> [(index: Int, bytes: Range<Int>)] {
        ArgumentPiece.pieces(of: arguments).compactMap { piece in
            switch piece {
            case .word(let index): userInformation(ofURL: arguments[index], from: 0).map { (index, $0) }
            case .value(let option, let index, let offset):
                secret(of: option, in: arguments[index], from: offset).map { (index, $0) }
            }
        }
    }

    private static func secret(of option: CommandOption, in argument: String, from offset: Int) -> Range<Int>? {
        let value = argument.utf8.dropFirst(offset)
        let whole = offset..<argument.utf8.count
        switch option {
        case .user, .proxyUser, .bearer, .keyPassword, .subprotocol: return whole
        // Otherwise it is a file.
        case .cookie: return value.contains(UInt8(ascii: "=")) ? whole : nil
        case .header:
            guard let colon = value.firstIndex(of: UInt8(ascii: ":")) else { return nil }
            let name = String(decoding: value[..<colon], as: UTF8.self)
            let content = String(decoding: value[colon...].dropFirst().drop { $0 == 0x20 || $0 == 0x09 }, as: UTF8.self)
            guard SecretFields.redact(name: name, value: content) != content else { return nil }
            return offset + name.utf8.count + 1..<argument.utf8.count
        // Of a certificate, FILE:PASSWORD.
        case .certificate:
            guard let colon = value.lastIndex(of: UInt8(ascii: ":")) else { return nil }
            return argument.utf8.distance(from: argument.startIndex, to: colon) + 1..<argument.utf8.count
        case .url, .proxy: return userInformation(ofURL: argument, from: offset)
        default: return userInformation(of: argument, from: offset)
        }
    }

    /// Of a URL, whose scheme may be omitted.
    private static func userInformation(ofURL argument: String, from offset: Int) -> Range<Int>? {
        let bytes = Array(argument.utf8)
        let end = endOfAuthority(in: bytes, from: offset)
        if bytes[end...].starts(with: "//".utf8) { return userInformation(of: argument, from: offset) }
        return userInformation(in: bytes, from: offset)
    }

    /// Of a URL with a user or a password.
    private static func userInformation(of argument: String, from offset: Int) -> Range<Int>? {
        let bytes = Array(argument.utf8)
        guard let slashes = bytes[offset...].firstRange(of: Array("//".utf8)) else { return nil }
        return userInformation(in: bytes, from: slashes.upperBound)
    }

    /// Of an authority that begins there.
    private static func userInformation(in bytes: [UInt8], from start: Int) -> Range<Int>? {
        let authority = bytes[start..<endOfAuthority(in: bytes, from: start)]
        return authority.lastIndex(of: UInt8(ascii: "@")).map { start..<$0 }
    }

    private static func endOfAuthority(in bytes: [UInt8], from start: Int) -> Int {
        bytes[start...].firstIndex { "/?#".utf8.contains($0) } ?? bytes.endIndex
    }
}
