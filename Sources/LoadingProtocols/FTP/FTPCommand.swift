/// What is said to a server.
enum FTPCommand: Equatable {
    case user(String)
    case password(String)
    /// `I` or `A`.
    case type(Character)
    case changeDirectory([UInt8])
    case size([UInt8])
    case modificationTime([UInt8])
    case extendedPassive
    case passive
    case restart(Int64)
    case retrieve([UInt8])
    case list
    case names
    case quit

    /// Nil if it would be more than one command.
    var bytes: [UInt8]? {
        var result: [UInt8]
        switch self {
        case .user(let name): result = Array("USER \(name)".utf8)
        case .password(let password): result = Array("PASS \(password)".utf8)
        case .type(let type): result = Array("TYPE \(type)".utf8)
        case .changeDirectory(let name): result = "CWD ".utf8 + name
        case .size(let name): result = "SIZE ".utf8 + name
        case .modificationTime(let name): result = "MDTM ".utf8 + name
        case .extendedPassive: result = Array("EPSV".utf8)
        case .passive: result = Array("PASV".utf8)
        case .restart(let offset): result = Array("REST \(offset)".utf8)
        case .retrieve(let name): result = "RETR ".utf8 + name
        case .list: result = Array("LIST".utf8)
        case .names: result = Array("NLST".utf8)
        case .quit: result = Array("QUIT".utf8)
        }
        if result.contains(where: { Octet.isLineEnd($0) || $0 == Octet.nul }) { return nil }
        result += [Octet.carriageReturn, Octet.lineFeed]
        return result
    }
}
