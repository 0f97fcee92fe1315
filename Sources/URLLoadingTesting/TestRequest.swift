public import Foundation

/// A request that a ``TestServer`` has received.
public struct TestRequest: Sendable, Equatable {
    public var method: String
    /// As in the request line: usually a path with its query.
    public var target: String
    /// In the order of the request.
    public var fields: [Field]
    /// Whole, without chunks.
    public var body: Data
    /// Whether it came over TLS.
    public var isSecure: Bool
    /// Counts the connections of the server from 0: requests with the same number came over one connection.
    public var connection: Int

    public struct Field: Sendable, Equatable {
        public var name: String
        public var value: String
    }

    /// The value of the first field with that name, in any case.
    public subscript(_ name: String) -> String? { self.fields(named: name).first }

    /// The values of all fields with that name, in any case.
    public func fields(named name: String) -> [String] {
        fields.filter { $0.name.lowercased() == name.lowercased() }.map(\.value)
    }

    /// The URL, from `Host` and the target.
    public var url: URL? {
        if target.hasPrefix("http://") || target.hasPrefix("https://") { return URL(string: target) }
        guard let host = self["Host"] else { return nil }
        return URL(string: "\(isSecure ? "https" : "http")://\(host)\(target)")
    }
}
