public import Foundation

/// What a ``TestServer`` does with a request: a response, and what is to go wrong with it.
public struct TestResponse: Sendable {
    /// The status code.
    public var status: Int
    /// In this order. `Content-Length` is added, unless there is one, or `Transfer-Encoding`. With another length than
    /// that of the body the connection is closed after it.
    public var fields: [(name: String, value: String)]
    /// Not sent where HTTP forbids a body: after HEAD, and with 1xx, 204 and 304.
    public var body: Data
    /// Whether the body is sent without `Content-Length`: over HTTP/1.1 in chunks, a piece of at most 64 KiB in each.
    public var isChunked = false
    /// Whether the connection takes no request after this one, which is announced by `Connection: close` or GOAWAY.
    public var closesConnection = false
    /// How long the server waits before the head.
    public var delay = Duration.zero
    /// Bytes of the body a second, at least one; nil for as fast as possible.
    public var rate: Int?
    /// What goes wrong, and where.
    public var failure: (fault: Fault, position: Position)?
    /// Instead of all of the above, these bytes, after which the connection is closed.
    var raw: Data?
    var webSocket: (subprotocol: String?, body: Conversation)?

    /// What a server does with a WebSocket.
    public typealias Conversation = @Sendable (TestWebSocket) async throws -> Void

    /// A fault of the server or the network.
    public enum Fault: Sendable, Equatable {
        /// The connection is closed, over HTTP/2 with all its streams.
        case disconnect
        /// The connection is reset; over HTTP/2 only the stream, with `INTERNAL_ERROR`.
        case reset
        /// Nothing more of the response is sent, and the connection stays open.
        case stall
    }

    /// Where in the response the fault occurs.
    public enum Position: Sendable, Equatable {
        /// Before the first byte of the response.
        case start
        /// After the head.
        case head
        /// After this number of bytes of the body.
        case body(Int)
    }

    /// A response with fields in the order of their names.
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

    /// Arbitrary bytes instead of a response, after which the connection is closed.
    public static func raw(_ bytes: Data) -> TestResponse {
        var response = TestResponse()
        response.raw = bytes
        return response
    }

    /// Accepts a WebSocket. Other requests get a response with status 400.
    ///
    /// - Parameters:
    ///   - subprotocol: The subprotocol that the server selects from those that the client offers.
    ///   - conversation: What the server does with the WebSocket, in a separate task. The connection is closed when it
    ///     returns or throws, and the task is cancelled when the server stops.
    public static func webSocket(subprotocol: String? = nil, _ conversation: @escaping Conversation) -> TestResponse {
        var response = TestResponse(status: 101)
        response.webSocket = (subprotocol, conversation)
        return response
    }

    func values(of name: String) -> [String] {
        fields.filter { $0.name.lowercased() == name.lowercased() }.map(\.value)
    }

    // MARK: Changes

    /// A copy with another field.
    public func with(field name: String, _ value: String) -> TestResponse {
        changed { $0.fields.append((name, value)) }
    }
    /// A copy that is sent in chunks, without `Content-Length`.
    public func chunked() -> TestResponse { changed { $0.isChunked = true } }
    /// A copy after which the connection is closed.
    public func closing() -> TestResponse { changed { $0.closesConnection = true } }
    /// A copy that is sent after this delay.
    public func delayed(by delay: Duration) -> TestResponse { changed { $0.delay = delay } }
    /// A copy whose body is sent at this rate.
    public func throttled(to bytesPerSecond: Int) -> TestResponse { changed { $0.rate = max(1, bytesPerSecond) } }
    /// A copy that fails in this way.
    public func failing(_ fault: Fault, after position: Position = .start) -> TestResponse {
        changed { $0.failure = (fault, position) }
    }

    private func changed(_ change: (inout TestResponse) -> Void) -> TestResponse {
        var copy = self
        change(&copy)
        return copy
    }
}
