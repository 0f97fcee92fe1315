internal import Foundation

/// Writes a response to one request, in the version of its connection. Its methods block, and throw when the
/// connection, or the request's stream, has ended.
protocol ResponseWriter {
    func writeHead(of response: TestResponse, to request: TestRequest) throws
    func writeBody(_ bytes: Data, of response: TestResponse) throws
    func endBody(of response: TestResponse) throws
    /// Bytes instead of a response.
    func writeRaw(_ bytes: Data) throws
    func fail(_ fault: TestResponse.Fault)
}

extension ResponseWriter {
    /// Sends the response, and what goes wrong with it. False if the connection takes no request after it.
    func send(_ response: TestResponse, to request: TestRequest, of core: TestServerCore) throws -> Bool {
        if response.delay > .zero { core.pause(response.delay) }
        if let raw = response.raw {
            try writeRaw(raw)
            return false
        }
        if fails(response, at: .start) { return false }
        try writeHead(of: response, to: request)
        if fails(response, at: .head) { return false }
        if response.mayHaveBody(to: request), try !sendBody(of: response, core) { return false }
        return !response.closes(request)
    }

    private func sendBody(of response: TestResponse, _ core: TestServerCore) throws -> Bool {
        var limit = Int.max
        if case (_, .body(let count))? = response.failure { limit = max(0, count) }
        let body = response.body.prefix(limit)
        // Twenty pieces a second.
        let rate = response.rate.map { max(1, $0) }
        let piece = rate.map { max(1, $0 / 20) } ?? 65_536
        var sent = body.startIndex
        while sent < body.endIndex {
            let end = min(sent + piece, body.endIndex)
            if let rate { core.pause(.seconds(Double(end - sent) / Double(rate))) }
            try writeBody(body[sent..<end], of: response)
            sent = end
        }
        if case (let fault, .body)? = response.failure {
            fail(fault)
            return false
        }
        try endBody(of: response)
        return true
    }

    private func fails(_ response: TestResponse, at position: TestResponse.Position) -> Bool {
        guard let failure = response.failure, failure.position == position else { return false }
        fail(failure.fault)
        return true
    }
}

extension TestResponse {
    func closes(_ request: TestRequest) -> Bool {
        isLast || request.has("close", in: "Connection") || hasOtherLength(request)
    }

    /// Whether the connection takes no request after it.
    var isLast: Bool { closesConnection || values(of: "Connection").hasWord("close") }

    /// Whether the body is not as long as its head says: over HTTP/1.1 its end can only be seen from that of the
    /// connection.
    private func hasOtherLength(_ request: TestRequest) -> Bool {
        guard mayHaveBody(to: request), let length = values(of: "Content-Length").first else { return false }
        return length != "\(body.count)"
    }

    func mayHaveBody(to request: TestRequest) -> Bool { request.method != "HEAD" && !isBodiless }

    /// Whether no response with this status has a body (RFC 9110 §6.4.1).
    private var isBodiless: Bool { status < 200 || status == 204 || status == 304 }

    /// The fields with `Content-Length`, where it is not given.
    var fieldsWithLength: [(name: String, value: String)] {
        let names = Set(fields.map { $0.name.lowercased() })
        let hasLength = isChunked || isBodiless || !names.isDisjoint(with: ["content-length", "transfer-encoding"])
        return hasLength ? fields : fields + [("Content-Length", "\(body.count)")]
    }
}
