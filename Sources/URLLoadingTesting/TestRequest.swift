public import Foundation

/// A request that a ``TestServer`` has received.
public struct TestRequest: Sendable, Equatable {
    /// The method as sent, for example `GET`.
    public var method: String
    /// The target in the request line: usually a path with its query.
    public var target: String
    /// The fields, in the order of the request. The `:authority` of HTTP/2 is `Host`.
    public var fields: [Field]
    /// The whole body, without chunk framing.
    public var body: Data
    /// Whether the request came over TLS.
    public var isSecure: Bool
    /// The protocol's name as in the metrics of a task: `http/1.1`, or `h2` for HTTP/2.
    public var protocolName: String
    /// Counts the connections of the server from 0: requests with the same number came over one connection.
    public var connection: Int

    /// A header field.
    public struct Field: Sendable, Equatable {
        /// The name as sent; over HTTP/2 in lower case.
        public var name: String
        /// The value, without leading and trailing spaces.
        public var value: String
    }

    /// The value of the first field with that name, ignoring case.
    public subscript(_ name: String) -> String? { self.fields(named: name).first }

    /// The values of all fields with that name, ignoring case.
    public func fields(named name: String) -> [String] {
        fields.filter { $0.name.lowercased() == name.lowercased() }.map(\.value)
    }

    /// Whether a list of words, such as `Connection`, has this one.
    func has(_ word: String, in name: String) -> Bool { fields(named: name).hasWord(word) }

    /// The URL, from `Host` and the target. Nil for targets that name none, as in `OPTIONS *`.
    public var url: URL? {
        if target.hasPrefix("http://") || target.hasPrefix("https://") { return URL(string: target) }
        guard target.hasPrefix("/"), let host = self["Host"] else { return nil }
        return URL(string: "\(isSecure ? "https" : "http")://\(host)\(target)")
    }
}

extension [String] {
    /// Whether one of the comma-separated lists has the word, in any case.
    func hasWord(_ word: String) -> Bool {
        contains { list in
            list.split(separator: ",").contains { $0.trimmingCharacters(in: .whitespaces).lowercased() == word }
        }
    }
}
