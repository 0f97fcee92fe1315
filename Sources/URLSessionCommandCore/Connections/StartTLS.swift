/// Agrees on TLS in an application protocol: the plain-text steps before the handshake. Has no socket.
package struct StartTLS: Sendable {
    package enum ApplicationProtocol: String, Equatable, Sendable, CaseIterable {
        /// RFC 3207
        case smtp
        /// RFC 3501 §6.2.1
        case imap
        /// RFC 2595 §4
        case pop3
        /// RFC 4217 §4
        case ftp
        /// RFC 4511 §4.14
        case ldap
        /// RFC 6120 §5
        case xmpp
        /// "SSL Session Encryption" in PostgreSQL's description of its protocol
        case postgres
    }

    package enum Progress: Equatable, Sendable {
        /// Send these bytes, which may be none, and pass what is received.
        case going([UInt8])
        /// Begin the handshake.
        case done
    }

    /// Why there is no TLS, in words that follow the name of the server.
    package struct Refusal: Error, Equatable, Sendable {
        package var reason: String

        package init(_ reason: String) {
            self.reason = reason
        }
    }

    /// The longest conversation, in bytes.
    private static let longest = 64 * 1024

    private let applicationProtocol: ApplicationProtocol
    private let host: String
    private var received: [UInt8] = []
    private var total = 0
    /// The number of replies so far.
    private var replies = 0
    private var isWithinReply = false
    private var offersTLS = false

    package init(_ applicationProtocol: ApplicationProtocol, host: String) {
        self.applicationProtocol = applicationProtocol
        self.host = host
    }

    /// What the client sends before it has received anything.
    package var opening: [UInt8] {
        switch applicationProtocol {
        case .smtp, .imap, .pop3, .ftp: []
        // SSLRequest: its length, 8, and the code 80877103.
        case .postgres: [0, 0, 0, 8, 0x04, 0xD2, 0x16, 0x2F]
        // ExtendedRequest with the message ID 1 and the object identifier of StartTLS.
        case .ldap: [0x30, 0x1D, 0x02, 0x01, 0x01, 0x77, 0x18, 0x80, 0x16] + Array("1.3.6.1.4.1.1466.20037".utf8)
        case .xmpp: Array(streamHeader.utf8)
        }
    }

    private var streamHeader: String {
        let name = host.filter { !"<>&'\"".contains($0) }
        return "<?xml version='1.0'?><stream:stream to='\(name)' version='1.0' xmlns='jabber:client' "
            + "xmlns:stream='http://etherx.jabber.org/streams'>"
    }

    /// Passes received bytes. Bytes after the server's agreement are refused: an attacker can have added them, to be
    /// taken for protected ones.
    package mutating func receive(_ bytes: some Collection<UInt8>) throws(Refusal) -> Progress {
        received += bytes
        total += bytes.count
        guard total <= Self.longest else { throw Refusal("sent too much before TLS") }
        var output: [UInt8] = []
        while case let step? = try next() {
            guard case .going(let more) = step else {
                guard received.isEmpty else { throw Refusal("sent bytes between its agreement and TLS") }
                return .done
            }
            output += more
        }
        return .going(output)
    }

    /// Handles the next complete reply; nil if there is none yet.
    private mutating func next() throws(Refusal) -> Progress? {
        switch applicationProtocol {
        case .postgres: try postgres()
        case .ldap: try ldap()
        case .xmpp: try xmpp()
        case .smtp, .imap, .pop3, .ftp: try line()
        }
    }

    // MARK: Protocols of lines

    private mutating func line() throws(Refusal) -> Progress? {
        guard let end = received.firstIndex(of: 10) else { return nil }
        var line = String(decoding: received[..<end], as: UTF8.self)
        if line.hasSuffix("\r") { line.removeLast() }
        received.removeFirst(end + 1)
        switch applicationProtocol {
        case .imap: return try imap(line)
        case .pop3: return try pop3(line)
        case .ftp: return try ftp(line)
        default: return try smtp(line)
        }
    }

    private mutating func smtp(_ line: String) throws(Refusal) -> Progress {
        if replies == 1, line.dropFirst(4).uppercased() == "STARTTLS" { offersTLS = true }
        guard try endsReply(line, code: [220, 250, 220][min(replies, 2)]) else { return .going([]) }
        replies += 1
        switch replies {
        case 1: return command("EHLO localhost")
        case 2:
            guard offersTLS else { throw Refusal("does not offer STARTTLS") }
            return command("STARTTLS")
        default: return .done
        }
    }

    private mutating func ftp(_ line: String) throws(Refusal) -> Progress {
        guard try endsReply(line, code: replies == 0 ? 220 : 234) else { return .going([]) }
        replies += 1
        return replies == 1 ? command("AUTH TLS") : .done
    }

    /// Whether a line ends a reply, which may have several (RFC 5321 §4.2.1, RFC 959 §4.2).
    private mutating func endsReply(_ line: String, code: Int) throws(Refusal) -> Bool {
        // The inner lines of FTP's replies may be without the code.
        if isWithinReply, applicationProtocol == .ftp {
            isWithinReply = !line.hasPrefix("\(code) ")
            return !isWithinReply
        }
        guard line.hasPrefix("\(code)") else { throw refusal(line) }
        isWithinReply = line.dropFirst(3).first == "-"
        return !isWithinReply
    }

    private mutating func pop3(_ line: String) throws(Refusal) -> Progress {
        guard line.hasPrefix("+OK") else { throw refusal(line) }
        replies += 1
        return replies == 1 ? command("STLS") : .done
    }

    private mutating func imap(_ line: String) throws(Refusal) -> Progress {
        if replies == 0 {
            guard line.uppercased().hasPrefix("* OK") else { throw refusal(line) }
            replies = 1
            return command("a1 STARTTLS")
        }
        // Untagged responses may come at any time (RFC 3501 §7).
        if line.hasPrefix("* ") { return .going([]) }
        guard line.uppercased().hasPrefix("A1 OK") else { throw refusal(line) }
        return .done
    }

    private func command(_ text: String) -> Progress { .going(Array("\(text)\r\n".utf8)) }

    private func refusal(_ line: String) -> Refusal { Refusal("answered '\(TextSanitizer.clean(line))'") }

    // MARK: Other protocols

    private mutating func postgres() throws(Refusal) -> Progress? {
        guard let answer = received.first else { return nil }
        received.removeFirst()
        guard answer == UInt8(ascii: "S") else {
            throw Refusal(answer == UInt8(ascii: "N") ? "offers no TLS" : "did not answer as PostgreSQL does")
        }
        return .done
    }

    /// An ExtendedResponse: sequence, message ID, `[APPLICATION 24]`, result code.
    private mutating func ldap() throws(Refusal) -> Progress? {
        guard let message = try element(in: received[...], tag: 0x30) else { return nil }
        received.removeFirst(message.end)
        guard let identifier = try element(in: message.content, tag: 0x02),
            let response = try element(in: message.content[identifier.end...], tag: 0x78),
            let result = try element(in: response.content, tag: 0x0A), let code = result.content.last
        else { throw Refusal("did not answer as LDAP requires") }
        guard code == 0 else { throw Refusal("refused StartTLS with the result code \(code)") }
        return .done
    }

    /// The element of the Basic Encoding Rules at the start of `bytes`; nil if it is not complete.
    private func element(
        in bytes: ArraySlice<UInt8>, tag: UInt8
    ) throws(Refusal) -> (content: ArraySlice<UInt8>, end: Int)? {
        guard let first = bytes.first else { return nil }
        guard first == tag else { throw Refusal("did not answer as LDAP requires") }
        guard let short = bytes.dropFirst().first else { return nil }
        let lengthBytes = short < 0x80 ? 0 : Int(short & 0x7F)
        guard lengthBytes <= 3 else { throw Refusal("did not answer as LDAP requires") }
        let rest = bytes.dropFirst(2)
        guard rest.count >= lengthBytes else { return nil }
        let length = short < 0x80 ? Int(short) : rest.prefix(lengthBytes).reduce(0) { $0 << 8 | Int($1) }
        let content = rest.dropFirst(lengthBytes)
        guard content.count >= length else { return nil }
        return (content.prefix(length), content.startIndex + length)
    }

    private mutating func xmpp() throws(Refusal) -> Progress? {
        let text = String(decoding: received, as: UTF8.self)
        if replies == 0 {
            guard let end = text.firstRange(of: "</stream:features>") else { return nil }
            guard text[..<end.lowerBound].contains("urn:ietf:params:xml:ns:xmpp-tls") else {
                throw Refusal("does not offer STARTTLS")
            }
            replies = 1
            received = Array(text[end.upperBound...].utf8)
            return .going(Array("<starttls xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>".utf8))
        }
        guard let end = text.firstIndex(of: ">") else { return nil }
        guard text[...end].contains("<proceed") else { throw refusal(String(text[...end])) }
        received = Array(text[text.index(after: end)...].utf8)
        return .done
    }
}
