public import Foundation

/// What a ``TestServer`` does with a request: a response, and what is to go wrong with it.
public struct TestResponse: Sendable {
    public var status: Int
    /// In this order. `Content-Length` is added, unless there is one, or `Transfer-Encoding`.
    public var fields: [(name: String, value: String)]
    public var body: Data
    /// Whether the body is sent in chunks, without `Content-Length`.
    public var isChunked = false
    /// Whether the connection is closed after the response, and `Connection: close` is sent.
    public var closesConnection = false
    /// How long the server waits before the head.
    public var delay = Duration.zero
    /// Bytes of the body a second; nil for as fast as possible.
    public var rate: Int?
    public var failure: (fault: Fault, position: Position)?
    /// Instead of all of the above, these bytes, after which the connection is closed.
    var raw: Data?
    var webSocket: (subprotocol: String?, conversation: @Sendable (TestWebSocket) throws -> Void)?

    /// What goes wrong.
    public enum Fault: Sendable, Equatable {
        /// The connection is closed.
        case disconnect
        /// The connection is reset.
        case reset
        /// Nothing more is sent, and the connection stays open.
        case stall
    }

    /// Where in the response it goes wrong.
    public enum Position: Sendable, Equatable {
        /// Nothing of the response was sent.
        case start
        /// After the head.
        case head
        /// After so many bytes of the body.
        case body(Int)
    }

    public init(status: Int = 200, fields: [String: String] = [:], body: Data = Data()) {
        self.status = status
        self.fields = fields.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
        self.body = body
    }

    /// A response with a text in UTF-8.
    public init(status: Int = 200, text: String) {
        self.init(status: status, fields: ["Content-Type": "text/plain; charset=utf-8"], body: Data(text.utf8))
    }

    /// A response with JSON.
    public init(status: Int = 200, json value: some Encodable) throws {
        self.init(status: status, fields: ["Content-Type": "application/json"], body: try JSONEncoder().encode(value))
    }

    /// Any bytes instead of a response, after which the connection is closed.
    public static func raw(_ bytes: Data) -> TestResponse {
        var response = TestResponse()
        response.raw = bytes
        return response
    }

    /// Accepts a WebSocket.
    ///
    /// - Parameters:
    ///   - subprotocol: The one that is chosen of those that the client offers.
    ///   - conversation: What the server does with it, on a thread of its own. The connection is closed when it returns or throws.
    public static func webSocket(
        subprotocol: String? = nil, _ conversation: @escaping @Sendable (TestWebSocket) throws -> Void
    ) -> TestResponse {
        var response = TestResponse(status: 101)
        response.webSocket = (subprotocol, conversation)
        return response
    }

    // MARK: Changes

    /// With another field.
    public func with(field name: String, _ value: String) -> TestResponse {
        changed { $0.fields.append((name, value)) }
    }
    /// In chunks, without `Content-Length`.
    public func chunked() -> TestResponse { changed { $0.isChunked = true } }
    /// After which the connection is closed.
    public func closing() -> TestResponse { changed { $0.closesConnection = true } }
    /// That begins so much later.
    public func delayed(by delay: Duration) -> TestResponse { changed { $0.delay = delay } }
    /// Whose body arrives with so many bytes a second.
    public func throttled(to bytesPerSecond: Int) -> TestResponse { changed { $0.rate = max(1, bytesPerSecond) } }
    /// That goes wrong.
    public func failing(_ fault: Fault, after position: Position = .start) -> TestResponse {
        changed { $0.failure = (fault, position) }
    }

    private func changed(_ change: (inout TestResponse) -> Void) -> TestResponse {
        var copy = self
        change(&copy)
        return copy
    }
}
