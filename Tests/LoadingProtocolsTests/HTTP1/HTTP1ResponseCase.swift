import LoadingProtocols
import Testing

/// A response as it stands on the wire, and what is to be made of it.
struct HTTP1ResponseCase: Sendable, CustomTestStringConvertible {
    var rule: String
    var bytes: [UInt8]
    var kind: HTTP1RequestKind
    var expected: [String]

    init(_ rule: String, _ text: String, to kind: HTTP1RequestKind = .other, _ expected: String...) {
        self.rule = rule
        bytes = Array(text.utf8)
        self.kind = kind
        self.expected = expected
    }

    var testDescription: String { "\(rule): \(String(decoding: bytes, as: UTF8.self).debugDescription)" }
}
