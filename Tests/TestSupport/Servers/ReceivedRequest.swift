/// An HTTP/1.x request as on the wire.
package struct ReceivedRequest: Sendable, Equatable, CustomStringConvertible {
    package struct Field: Sendable, Equatable {
        package let name: String
        package let value: String

        package init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    package let method: String
    package let target: String
    package let version: String
    /// In wire order and spelling.
    package let fields: [Field]
    /// The bytes of the head, including the empty line.
    package let head: [UInt8]
    /// Without chunk framing.
    package internal(set) var body: [UInt8] = []
    /// With chunk framing.
    package internal(set) var rawBody: [UInt8] = []
    package internal(set) var trailers: [Field] = []

    package var raw: [UInt8] { head + rawBody }
    package var headText: String { String(decoding: head, as: UTF8.self) }
    package var bodyText: String { String(decoding: body, as: UTF8.self) }
    /// The target without its query.
    package var path: String { String(target.prefix { $0 != "?" }) }
    package var query: String? { target.firstIndex(of: "?").map { String(target[target.index(after: $0)...]) } }
    package var description: String { "\(method) \(target)" }

    /// The value of the first field of this name.
    package subscript(name: String) -> String? { values(of: name).first }

    package func values(of name: String) -> [String] {
        fields.filter { $0.name.lowercased() == name.lowercased() }.map(\.value)
    }

    init(head: [UInt8]) throws {
        let lines = Self.lines(of: head)
        let parts = lines.first?.split(separator: " ", omittingEmptySubsequences: false) ?? []
        guard parts.count == 3, parts[2].hasPrefix("HTTP/") else {
            throw MalformedRequest("the request line \(lines.first ?? "")")
        }
        method = String(parts[0])
        target = String(parts[1])
        version = String(parts[2])
        fields = try lines.dropFirst().filter { !$0.isEmpty }.map(Self.field)
        self.head = head
    }

    static func lines(of bytes: [UInt8]) -> [String] {
        String(decoding: bytes, as: UTF8.self)
            .split(separator: "\r\n", omittingEmptySubsequences: false).map(String.init)
    }

    static func field(_ line: String) throws -> Field {
        guard let colon = line.firstIndex(of: ":"), colon > line.startIndex else {
            throw MalformedRequest("the field line \(line)")
        }
        let value = line[line.index(after: colon)...]
        return Field(
            String(line[..<colon]),
            String(value.drop { $0 == " " || $0 == "\t" }.reversed().drop { $0 == " " || $0 == "\t" }.reversed()))
    }
}

/// A client has sent malformed HTTP/1.x.
package struct MalformedRequest: Error, CustomStringConvertible {
    package let description: String

    init(_ what: String) {
        description = "malformed: \(what)"
    }
}
