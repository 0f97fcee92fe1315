import Foundation
import TestSupport
import Testing
import URLLoading

/// Basic and Digest against Apache httpd.
@Suite(.needs(.apache2)) struct ApacheAuthenticationTests {
    private let secret = "Mufasa:Circle%20of%20Life"

    private func status(_ session: URLSession, _ url: URL, method: String = "GET") async throws -> Int? {
        var request = URLRequest(url: url)
        request.httpMethod = method
        if method == "POST" { request.httpBody = Data("a body".utf8) }
        return (try await session.data(for: request).1 as? HTTPURLResponse)?.statusCode
    }

    // AUTH-17, AUTH-18, AUTH-26: asked once, then unasked on the same connection
    @Test("accepted credentials", arguments: ["basic", "digest"])
    func acceptedCredentials(kind: String) async throws {
        let server = try ApacheServer()
        defer { server.stop() }
        let session = URLSession(configuration: .ephemeral)
        #expect(try await status(session, server.url("/\(kind)/page?x=y&z", user: secret)) == 200)
        #expect(try await status(session, server.url("/\(kind)/page")) == 200)
        #expect(try await status(session, server.url("/\(kind)/none")) == 404)
        session.invalidateAndCancel()
        server.stop()
        #expect(
            server.log == [
                "1 GET /\(kind)/page?x=y&z HTTP/1.1 401 -", "1 GET /\(kind)/page?x=y&z HTTP/1.1 200 Mufasa",
                "1 GET /\(kind)/page HTTP/1.1 200 Mufasa", "1 GET /\(kind)/none HTTP/1.1 404 Mufasa",
            ])
    }

    // AUTH-9, AUTH-10
    @Test("rejected credentials", arguments: ["basic", "digest"])
    func rejectedCredentials(kind: String) async throws {
        let server = try ApacheServer()
        defer { server.stop() }
        let session = URLSession(configuration: .ephemeral)
        defer { session.invalidateAndCancel() }
        #expect(try await status(session, server.url("/\(kind)/page", user: "Mufasa:wrong")) == 401)
    }

    // AUTH-18: a stale nonce causes no challenge
    @Test("a nonce that has grown old") func aNonceThatHasGrownOld() async throws {
        let server = try ApacheServer()
        defer { server.stop() }
        let configuration = URLSessionConfiguration.ephemeral
        // The second request shall get the page, and not 304.
        configuration.urlCache = nil
        let session = URLSession(configuration: configuration)
        #expect(try await status(session, server.url("/short/page", user: secret)) == 200)
        let pause = Signal("two seconds")
        await #expect(throws: DeadlineExceeded.self) { try await pause.wait(within: .seconds(2)) }
        #expect(try await status(session, server.url("/short/page")) == 200)
        session.invalidateAndCancel()
        server.stop()
        let line = "1 GET /short/page HTTP/1.1"
        #expect(
            server.log == [
                "\(line) 401 -", "\(line) 200 Mufasa", "\(line) 401 Mufasa", "\(line) 200 Mufasa",
            ])
    }
}
