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
        let texts = arguments.map { $0.map { String(cString: $0) } ?? "" }
        for (index, range) in ranges(in: texts) {
            guard let text = arguments[index], range.upperBound <= strlen(text) else { continue }
            memset(text + range.lowerBound, 0x20, range.count)
        }
    }

    /// Where secrets are: the index of an argument, and their bytes.
    static func ranges(in arguments: [String]) -> [(index: Int, bytes: Range<Int>)] {
        ArgumentPiece.pieces(of: arguments).compactMap { piece in
            switch piece {
            case .word(let index): userInformation(of: arguments[index], from: 0).map { (index, $0) }
            case .value(let option, let index, let offset):
                secret(of: option, in: arguments[index], from: offset).map { (index, $0) }
            }
        }
    }

    private static func secret(of option: CommandOption, in argument: String, from offset: Int) -> Range<Int>? {
        let value = argument.utf8.dropFirst(offset)
        let whole = offset..<argument.utf8.count
        switch option {
        case .user, .proxyUser, .bearer, .keyPassword: return whole
        // Otherwise it is a file.
        case .cookie: return value.contains(UInt8(ascii: "=")) ? whole : nil
        case .header:
            guard let colon = value.firstIndex(of: UInt8(ascii: ":")) else { return nil }
            let name = String(decoding: value[..<colon], as: UTF8.self)
            guard SecretFields.isSecret(name) else { return nil }
            return offset + name.utf8.count + 1..<argument.utf8.count
        // Of a certificate, FILE:PASSWORD.
        case .certificate:
            guard let colon = value.lastIndex(of: UInt8(ascii: ":")) else { return nil }
            return argument.utf8.distance(from: argument.startIndex, to: colon) + 1..<argument.utf8.count
        default: return userInformation(of: argument, from: offset)
        }
    }

    /// Of a URL with a user or a password.
    private static func userInformation(of argument: String, from offset: Int) -> Range<Int>? {
        let bytes = Array(argument.utf8)
        guard let slashes = bytes[offset...].firstRange(of: Array("//".utf8)) else { return nil }
        let end = bytes[slashes.upperBound...].firstIndex { "/?#".utf8.contains($0) } ?? bytes.endIndex
        guard let at = bytes[slashes.upperBound..<end].lastIndex(of: UInt8(ascii: "@")) else { return nil }
        return slashes.upperBound..<at
    }
}
