extension ServerConnection {
    /// Waits for a whole request: its head, and its body by Content-Length or chunks.
    package func readRequest() throws -> ReceivedRequest {
        try readBody(of: readRequestHead())
    }

    /// The next request on a persistent connection; nil if the client has closed its side.
    package func nextRequest() throws -> ReceivedRequest? {
        try hasMore() ? readRequest() : nil
    }

    /// Reads only the head, for scripts that answer before the body or with `100 Continue`.
    package func readRequestHead() throws -> ReceivedRequest {
        let request = try ReceivedRequest(head: receive(through: "\r\n\r\n"))
        record.state.withValue { $0.requests.append(request) }
        return request
    }

    /// The body of the request whose head was read.
    package func readBody(of head: ReceivedRequest) throws -> ReceivedRequest {
        var request = head
        if request["Transfer-Encoding"]?.lowercased() == "chunked" {
            try readChunks(into: &request)
        } else if let length = request["Content-Length"] {
            guard let count = Int(length), count >= 0 else { throw MalformedRequest("Content-Length: \(length)") }
            request.body = try receive(exactly: count)
            request.rawBody = request.body
        }
        record.state.withValue { $0.requests[$0.requests.count - 1] = request }
        return request
    }

    private func readChunks(into request: inout ReceivedRequest) throws {
        while true {
            let line = try receive(through: "\r\n")
            request.rawBody += line
            let text = String(decoding: line.dropLast(2), as: UTF8.self)
            guard let size = Int(text.prefix { $0 != ";" }, radix: 16), size >= 0 else {
                throw MalformedRequest("the chunk size \(text)")
            }
            if size == 0 { break }
            let chunk = try receive(exactly: size)
            let end = try receive(exactly: 2)
            guard end == [13, 10] else { throw MalformedRequest("the end of a chunk") }
            request.body += chunk
            request.rawBody += chunk + end
        }
        while true {
            let line = try receive(through: "\r\n")
            request.rawBody += line
            if line.count == 2 { return }
            request.trailers.append(
                try ReceivedRequest.field(String(decoding: line.dropLast(2), as: UTF8.self)))
        }
    }
}
