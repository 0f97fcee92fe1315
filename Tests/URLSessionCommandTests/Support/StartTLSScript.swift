import TestSupport
import Testing

/// The server's and the client's part of a conversation before TLS.
struct StartTLSScript: Sendable, CustomTestStringConvertible {
    enum Step: Sendable {
        case sends([UInt8])
        case receives([UInt8])

        static func sends(_ text: String) -> Step { .sends(Array(text.utf8)) }
        static func receives(_ text: String) -> Step { .receives(Array(text.utf8)) }
    }

    /// As `--starttls` has it.
    let name: String
    let steps: [Step]
    /// Why there is no TLS; nil if there is.
    var refusal: String?

    var testDescription: String { name + (refusal.map { ", \($0)" } ?? "") }

    /// Plays the server.
    func play(_ connection: ServerConnection) throws {
        for step in steps {
            switch step {
            case .sends(let bytes): try connection.send(bytes)
            case .receives(let expected):
                let bytes = try connection.receive(exactly: expected.count)
                guard bytes == expected else {
                    throw UnexpectedByScript(description: "received \(String(decoding: bytes, as: UTF8.self))")
                }
            }
        }
    }

    private static let ldapRequest =
        [0x30, 0x1D, 0x02, 0x01, 0x01, 0x77, 0x18, 0x80, 0x16] + Array("1.3.6.1.4.1.1466.20037".utf8)
    private static let postgresRequest: [UInt8] = [0, 0, 0, 8, 4, 210, 22, 47]
    private static let streamHeader =
        "<?xml version='1.0'?><stream:stream to='localhost' version='1.0' xmlns='jabber:client' "
        + "xmlns:stream='http://etherx.jabber.org/streams'>"
    private static let features =
        "<stream:stream from='localhost' version='1.0'><stream:features>"
        + "<starttls xmlns='urn:ietf:params:xml:ns:xmpp-tls'><required/></starttls></stream:features>"

    static let all = [
        StartTLSScript(
            name: "smtp",
            steps: [
                .sends("220-mail\r\n220 ready\r\n"), .receives("EHLO localhost\r\n"),
                .sends("250-mail\r\n250-STARTTLS\r\n250 HELP\r\n"), .receives("STARTTLS\r\n"),
                .sends("220 go ahead\r\n"),
            ]),
        StartTLSScript(
            name: "imap",
            steps: [
                .sends("* OK ready\r\n"), .receives("a1 STARTTLS\r\n"),
                .sends("* CAPABILITY IMAP4rev1\r\na1 OK go\r\n"),
            ]),
        StartTLSScript(
            name: "pop3", steps: [.sends("+OK ready\r\n"), .receives("STLS\r\n"), .sends("+OK go\r\n")]),
        StartTLSScript(
            name: "ftp",
            steps: [
                .sends("220-Welcome\r\n530 users are here\r\n220 ready\r\n"), .receives("AUTH TLS\r\n"),
                .sends("234 go\r\n"),
            ]),
        StartTLSScript(
            name: "ldap",
            steps: [
                .receives(ldapRequest),
                .sends([0x30, 0x0C, 0x02, 0x01, 0x01, 0x78, 0x07, 0x0A, 0x01, 0x00, 0x04, 0x00, 0x04, 0x00]),
            ]),
        StartTLSScript(
            name: "xmpp",
            steps: [
                .receives(streamHeader), .sends(features),
                .receives("<starttls xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>"),
                .sends("<proceed xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>"),
            ]),
        StartTLSScript(name: "postgres", steps: [.receives(postgresRequest), .sends("S")]),
        StartTLSScript(
            name: "smtp", steps: [.sends("554 go away\r\n")], refusal: "answered '554 go away'"),
        StartTLSScript(
            name: "smtp",
            steps: [.sends("220 ready\r\n"), .receives("EHLO localhost\r\n"), .sends("250-mail\r\n250 HELP\r\n")],
            refusal: "does not offer STARTTLS"),
        StartTLSScript(
            name: "imap",
            steps: [.sends("* OK ready\r\n"), .receives("a1 STARTTLS\r\n"), .sends("a1 NO not\u{1B} here\r\n")],
            refusal: "answered 'a1 NO not^[ here'"),
        StartTLSScript(
            name: "pop3",
            steps: [.sends("+OK ready\r\n"), .receives("STLS\r\n"), .sends("+OK go\r\n+OK injected\r\n")],
            refusal: "sent bytes between its agreement and TLS"),
        StartTLSScript(
            name: "ftp", steps: [.sends("220 ready\r\n"), .receives("AUTH TLS\r\n"), .sends("500 what?\r\n")],
            refusal: "answered '500 what?'"),
        StartTLSScript(
            name: "ldap",
            steps: [
                .receives(ldapRequest),
                .sends([0x30, 0x0C, 0x02, 0x01, 0x01, 0x78, 0x07, 0x0A, 0x01, 0x34, 0x04, 0x00, 0x04, 0x00]),
            ],
            refusal: "refused StartTLS with the result code 52"),
        StartTLSScript(
            name: "xmpp",
            steps: [
                .receives(streamHeader), .sends(features),
                .receives("<starttls xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>"),
                .sends("<failure xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>"),
            ],
            refusal: "answered '<failure xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>'"),
        StartTLSScript(
            name: "postgres", steps: [.receives(postgresRequest), .sends("N")], refusal: "offers no TLS"),
    ]
}
