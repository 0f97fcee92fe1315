internal import Foundation

/// A response of `ScriptedServer.answering`.
///
///     .text("hello")
///     .json(["a": 1]).with(field: "Cache-Control", "no-store")
///     .chunked(["a", "b"]).held(until: signal)
package struct CannedResponse: Sendable {
    package enum Body: Sendable {
        /// With a Content-Length.
        case bytes([UInt8])
        /// Each piece is one chunk (RFC 9112 section 7.1).
        case chunks([[UInt8]], trailers: [ReceivedRequest.Field])
        /// Delimited by closing the connection.
        case untilClose([UInt8])
        /// Endless zeros without Content-Length, as fast as the client reads.
        case endless
        /// With a Content-Length; each permit releases one portion.
        case paced([UInt8], portion: Int, by: Permits)
        /// Without body and Content-Length, as for 204 and 304.
        case none
    }

    package var status: Int
    package var reason: String
    package var fields: [ReceivedRequest.Field] = []
    package var body: Body
    /// The response is sent after this is fired.
    package var headSignal: Signal?
    /// The body is sent after this is fired; the head is sent at once.
    package var bodySignal: Signal?
    /// Whether the connection stays open for the next request; the field `Connection: close` is added otherwise.
    package var keepsAlive = true

    package init(_ status: Int = 200, reason: String? = nil, body: Body = .bytes([])) {
        self.status = status
        self.reason = reason ?? HTTPReason.phrase(status)
        self.body = body
    }

    // MARK: Common responses

    package static func text(_ text: String, status: Int = 200) -> Self {
        bytes(Array(text.utf8), status: status).with(field: "Content-Type", "text/plain; charset=utf-8")
    }

    package static func bytes(_ bytes: [UInt8], status: Int = 200) -> Self {
        Self(status, body: .bytes(bytes))
    }

    /// Any value that encodes to JSON, with sorted keys.
    package static func json(_ value: some Encodable, status: Int = 200) throws -> Self {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return bytes(Array(try encoder.encode(value)), status: status).with(field: "Content-Type", "application/json")
    }

    /// A status alone; with an empty body where the status allows one.
    package static func status(_ status: Int) -> Self {
        Self(status, body: status == 204 || status == 304 || status < 200 ? .none : .bytes([]))
    }

    package static func redirect(to location: String, status: Int = 302) -> Self {
        Self(status).with(field: "Location", location)
    }

    package static func chunked(_ pieces: [String], trailers: [ReceivedRequest.Field] = []) -> Self {
        Self(body: .chunks(pieces.map { Array($0.utf8) }, trailers: trailers))
    }

    package static func untilClose(_ text: String) -> Self {
        Self(body: .untilClose(Array(text.utf8)))
    }

    package static var endless: Self { Self(body: .endless) }

    package static func paced(_ bytes: [UInt8], portion: Int, by permits: Permits) -> Self {
        Self(body: .paced(bytes, portion: portion, by: permits))
    }

    /// The request as the JSON of an `Echo`.
    package static func echo(_ request: ReceivedRequest) throws -> Self {
        try json(Echo(request))
    }

    package struct Echo: Codable, Sendable, Equatable {
        package let method: String
        package let target: String
        /// Name and value, in order.
        package let headers: [[String]]
        package let body: String

        init(_ request: ReceivedRequest) {
            method = request.method
            target = request.target
            headers = request.fields.map { [$0.name, $0.value] }
            body = request.bodyText
        }
    }

    // MARK: Changed copies

    package func with(field name: String, _ value: String) -> Self {
        var copy = self
        copy.fields.append(ReceivedRequest.Field(name, value))
        return copy
    }

    package func held(until signal: Signal) -> Self {
        var copy = self
        copy.headSignal = signal
        return copy
    }

    package func bodyHeld(until signal: Signal) -> Self {
        var copy = self
        copy.bodySignal = signal
        return copy
    }

    /// The connection is closed after this response.
    package func closing() -> Self {
        var copy = self
        copy.keepsAlive = false
        return copy
    }
}

/// The reason phrases of RFC 9110 that tests use.
private enum HTTPReason {
    static func phrase(_ status: Int) -> String {
        let phrases = [
            200: "OK", 201: "Created", 204: "No Content", 206: "Partial Content", 301: "Moved Permanently",
            302: "Found", 303: "See Other", 304: "Not Modified", 307: "Temporary Redirect",
            308: "Permanent Redirect", 400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found",
            407: "Proxy Authentication Required", 416: "Range Not Satisfiable", 421: "Misdirected Request",
            500: "Internal Server Error", 502: "Bad Gateway", 503: "Service Unavailable",
        ]
        return phrases[status] ?? "Status"
    }
}
