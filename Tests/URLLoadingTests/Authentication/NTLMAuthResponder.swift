import Foundation
import TestSupport
import URLLoading

/// The server side of NTLM. It checks only the sequence of messages on a connection, not the credential.
struct NTLMAuthResponder {
    enum Source {
        case server
        case proxy
    }

    var source = Source.server
    /// Further fields of each challenge.
    var fields: [(name: String, value: String)] = []

    static let credential = URLCredential("DOMAIN\\Mufasa", "Circle of Life")

    /// The initial challenge, the type 2 message after a type 1 message, or 200 after a type 3 message.
    func answer(_ request: ReceivedRequest) -> CannedResponse {
        switch Self.message(request[source == .server ? "Authorization" : "Proxy-Authorization"]) {
        case 3: .text("in " + request.target)
        case 1: question("NTLM " + Data(Self.challenge).base64EncodedString())
        default: question("NTLM")
        }
    }

    private func question(_ value: String) -> CannedResponse {
        let (status, name) = source == .server ? (401, "WWW-Authenticate") : (407, "Proxy-Authenticate")
        let answer = CannedResponse.text("who are you?", status: status).with(field: name, value)
        return fields.reduce(answer) { $0.with(field: $1.name, $1.value) }
    }

    /// The NTLM message type in a field; nil without one.
    static func message(_ field: String?) -> UInt8? {
        guard let field, field.hasPrefix("NTLM "), let bytes = Data(base64Encoded: String(field.dropFirst(5))),
            bytes.starts(with: signature), bytes.count > 8
        else { return nil }
        return bytes[bytes.startIndex + 8]
    }

    private static let signature = Array("NTLMSSP\0".utf8)

    /// The type 2 message: domain and computer "DOMAIN", with current flags.
    private static let challenge: [UInt8] = {
        let name = "DOMAIN".utf8.flatMap { [$0, 0] as [UInt8] }
        let size = UInt8(name.count)
        let information: [UInt8] = [2, 0, size, 0] + name + [1, 0, size, 0] + name + [0, 0, 0, 0]
        let head: UInt8 = 56
        var message = signature + [2, 0, 0, 0]
        message += [size, 0, size, 0, head, 0, 0, 0]
        message += [0x15, 0x82, 0x89, 0xE2]
        message += [1, 2, 3, 4, 5, 6, 7, 8] + [UInt8](repeating: 0, count: 8)
        let count = UInt8(information.count)
        message += [count, 0, count, 0, head + size, 0, 0, 0]
        message += [10, 0, 0, 0, 0, 0, 0, 15]
        return message + name + information
    }()
}
