import Foundation
import TestSupport
import Testing
import URLLoading

/// The media type of HTTP responses without `Content-Type` (MISC-11).
@Suite(.leavesNothing) struct SniffingTests {
    private static let page = "<!DOCTYPE html><p>hello"

    /// A server of HTTP/2 that sends these frames together.
    private func http2Server(_ frames: @escaping @Sendable (Int64) -> [UInt8]) throws -> ScriptedServer {
        try ScriptedServer(tls: try TrustedAuthority.server().with { $0.applicationProtocols = ["h2"] }) {
            let http2 = try HTTP2ServerConnection($0)
            let stream = try http2.readRequest()
            try $0.send(frames(stream))
            try $0.waitForClose()
        }
    }

    private func load(_ url: URL) async throws -> (mimeType: String?, body: String) {
        let session = URLSession { $0.urlCache = nil }
        defer { session.invalidateAndCancel() }
        let (data, response) = try await session.data(from: url)
        return (response.mimeType, String(decoding: data, as: UTF8.self))
    }

    // MISC-11: the extension of the address goes before the first bytes
    @Test(
        "what determines the type",
        arguments: [
            ("/", [], page, "text/html"), ("/a.png", [], page, "image/png"), ("/a.unknown", [], page, "text/html"),
            ("/", [], "%PDF-1.7", "application/pdf"), ("/", [], "", nil),
            ("/", [("X-Content-Type-Options", "nosniff")], page, nil),
            ("/a.png", [("X-Content-Type-Options", "nosniff")], page, "image/png"),
            ("/", [("Content-Type", "application/octet-stream")], page, "application/octet-stream"),
            ("/", [("Content-Type", "text/plain")], page, "text/plain"),
        ] as [(String, [(String, String)], String, String?)])
    func sourcesOfTheMediaType(path: String, fields: [(String, String)], body: String, mimeType: String?) async throws {
        var response = CannedResponse.bytes(Array(body.utf8))
        for (name, value) in fields { response = response.with(field: name, value) }
        let server = try ScriptedServer.answering(response)
        defer { server.stop() }
        #expect(try await load(server.url(path)) == (mimeType, body))
        let shared = try http2Server { stream in
            HTTP2Frames.head(stream, 200, fields.map { ($0.0.lowercased(), $0.1) })
                + HTTP2Frames.data(stream, body, ends: true)
        }
        defer { shared.stop() }
        #expect(try await load(shared.url(path, host: "localhost")) == (mimeType, body))
    }

    // MISC-11: through framing and coding, and of a part of a body nothing
    @Test("codings and framings") func codingsAndFramings() async throws {
        let coded = CodedBodies.gzip(Self.page)
        let cases: [(head: String, body: [UInt8], mimeType: String?)] = [
            (
                "200 OK\r\nTransfer-Encoding: chunked",
                Array("5\r\n<!DOC\r\n12\r\nTYPE html><p>hello\r\n0\r\n\r\n".utf8), "text/html"
            ),
            ("200 OK\r\nContent-Encoding: gzip\r\nContent-Length: \(coded.count)", coded, "text/html"),
            ("404 Not Found\r\nContent-Length: \(Self.page.utf8.count)", Array(Self.page.utf8), "text/html"),
            ("200 OK\r\nConnection: close", Array(Self.page.utf8), "text/html"),
            (
                "206 Partial Content\r\nContent-Range: bytes 9-31/32\r\nContent-Length: \(Self.page.utf8.count)",
                Array(Self.page.utf8), nil
            ),
        ]
        for (head, body, mimeType) in cases {
            let server = try ScriptedServer { connection in
                _ = try connection.readRequest()
                try connection.send(Array("HTTP/1.1 \(head)\r\n\r\n".utf8) + body)
                connection.close()
            }
            defer { server.stop() }
            #expect(try await load(server.url()) == (mimeType, Self.page))
        }
        let shared = try http2Server { stream in
            HTTP2Frames.head(stream, 200, [("content-encoding", "gzip")]) + HTTP2Frames.data(stream, coded, ends: true)
        }
        defer { shared.stop() }
        #expect(try await load(shared.url(host: "localhost")) == ("text/html", Self.page))
    }

    // MISC-11: delivery waits for no byte
    @Test("a delayed body", arguments: [false, true]) func aDelayedBody(isShared: Bool) async throws {
        let goOn = Signal("the response has been delivered")
        let server =
            isShared
            ? try ScriptedServer(tls: try TrustedAuthority.server().with { $0.applicationProtocols = ["h2"] }) {
                let http2 = try HTTP2ServerConnection($0)
                let stream = try http2.readRequest()
                try http2.sendHead(on: stream)
                try $0.wait(for: goOn)
                try http2.sendBody(Array(Self.page.utf8), on: stream, ends: true)
                try $0.waitForClose()
            } : try .answering(CannedResponse.bytes(Array(Self.page.utf8)).bodyHeld(until: goOn))
        defer { server.stop() }
        let session = URLSession { $0.urlCache = nil }
        defer { session.invalidateAndCancel() }
        let (bytes, response) = try await session.bytes(from: server.url(host: isShared ? "localhost" : nil))
        #expect(response.mimeType == nil)
        goOn.fire()
        var body: [UInt8] = []
        for try await byte in bytes { body.append(byte) }
        #expect(String(decoding: body, as: UTF8.self) == Self.page)
    }

    // MISC-11, S-58: the calls are those of any other response, and a redirect that is refused is one
    @Test("delegate callbacks", arguments: [200, 302]) func delegateCallbacks(status: Int) async throws {
        let page = Self.page
        let shared = try http2Server { stream in
            HTTP2Frames.head(stream, status, [("location", "/elsewhere")]) + HTTP2Frames.data(stream, page, ends: true)
        }
        defer { shared.stop() }
        let plain = try ScriptedServer.answering(
            CannedResponse.bytes(Array(page.utf8), status: status).with(field: "Location", "/elsewhere"))
        defer { plain.stop() }
        for url in [plain.url(), shared.url(host: "localhost")] {
            let delegate = RecordingDelegate()
            delegate.redirect = { $1(nil) }
            let types = EventRecorder<String?>()
            delegate.during = { call, _, task in
                if case .response = call { types.record(task?.response?.mimeType) }
            }
            let session = URLSession(delegate) { $0.urlCache = nil }
            session.dataTask(with: url).resume()
            session.finishTasksAndInvalidate()
            #expect(
                try await delegate.callsUntilInvalid() == [.created(1)]
                    + (status == 302 ? [.redirect(1, 302)] : []) + [
                        .response(1, status), .data(1, page), .metrics(1), .completed(1, nil), .invalid,
                    ])
            #expect(types.events == ["text/html"])
        }
    }

    // MISC-11, S-58: the body comes only after the response
    @Test("a refused redirect whose body comes late over HTTP/2") func refusedRedirect() async throws {
        let isDelivered = Signal("the response has been delivered")
        let server = try ScriptedServer(tls: try TrustedAuthority.server().with { $0.applicationProtocols = ["h2"] }) {
            let http2 = try HTTP2ServerConnection($0)
            let stream = try http2.readRequest()
            try $0.send(HTTP2Frames.head(stream, 302, [("location", "/elsewhere")]))
            try $0.wait(for: isDelivered)
            try $0.send(HTTP2Frames.data(stream, Self.page, ends: true))
            try $0.waitForClose()
        }
        defer { server.stop() }
        let delegate = RecordingDelegate()
        delegate.redirect = { $1(nil) }
        delegate.during = { call, _, _ in
            if case .response = call { isDelivered.fire() }
        }
        let session = URLSession(delegate) { $0.urlCache = nil }
        session.dataTask(with: server.url(host: "localhost")).resume()
        session.finishTasksAndInvalidate()
        #expect(
            try await delegate.callsUntilInvalid() == [
                .created(1), .redirect(1, 302), .response(1, 302), .data(1, Self.page), .metrics(1),
                .completed(1, nil), .invalid,
            ])
    }

    // MISC-11: what is stored is all there
    @Test("a response that was stored") func aResponseThatWasStored() async throws {
        let server = try ScriptedServer.answering(
            CannedResponse.bytes(Array(Self.page.utf8)).with(field: "Cache-Control", "max-age=1000"))
        defer { server.stop() }
        let cache = URLCache(memoryCapacity: 1 << 20, diskCapacity: 0)
        let session = URLSession { $0.urlCache = cache }
        defer { session.invalidateAndCancel() }
        for _ in 0..<2 {
            let (data, response) = try await session.data(from: server.url())
            #expect(response.mimeType == "text/html")
            #expect(data == Data(Self.page.utf8))
        }
        #expect(server.requests.count == 1)
        #expect(cache.cachedResponse(for: URLRequest(url: server.url()))?.response.mimeType == "text/html")
    }
}
