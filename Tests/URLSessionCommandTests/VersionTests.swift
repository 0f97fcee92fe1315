import Foundation
import TestSupport
import Testing
import URLSessionCommandCore

/// `--http1.1`, `--http2` and `--http3`, against servers that support them or not.
@Suite(.needs(.caddy)) struct VersionTests {
    private let folder: TemporaryDirectory
    private let authority: TestCertificateAuthority

    init() throws {
        folder = try TemporaryDirectory()
        authority = try TestCertificateAuthority()
    }

    private func server(_ protocols: [String]) throws -> CaddyServer {
        try CaddyServer(files: ["small": Array("small".utf8)], authority: authority, protocols: protocols)
    }

    /// The exit code, and the version in the head of the response.
    private func run(_ url: URL, _ arguments: String...) throws -> (exit: ExitCode, version: String?) {
        let root = try folder.write(authority.root.pem, to: "root.pem").path
        let output = folder.file("output")
        try? FileManager.default.removeItem(at: output)
        let exit = Command.run(
            arguments: [url.absoluteString, "-s", "-i", "--cacert", root, "-o", output.path] + arguments,
            terminal: Terminal())
        let head = (try? String(contentsOf: output, encoding: .utf8))?.split(separator: "\r\n").first
        return (exit, head.map(String.init))
    }

    // CONN-2, CONN-7
    @Test("each version is used") func each() throws {
        let server = try server(["h1", "h2", "h3"])
        defer { server.stop() }
        let url = server.secureURL("/small")
        #expect(try run(url, "--http1.1") == (.success, "HTTP/1.1 200 OK"))
        #expect(try run(url, "--http2") == (.success, "HTTP/2 200"))
        #expect(try run(url) == (.success, "HTTP/2 200"))
        if HTTP3Build.isAvailable { #expect(try run(url, "--http3") == (.success, "HTTP/3 200")) }
    }

    // CONN-2: no other is taken in its place
    @Test("a version that the server does not support") func notSupported() throws {
        let plain = try ScriptedServer.answering(.text("hello"), tls: TLSServerOptions(authority: authority))
        defer { plain.stop() }
        let url = plain.url("/", host: "localhost")
        #expect(try run(url, "--http2") == (.noHTTP2, nil))
        #expect(plain.requests.map(\.path) == [])
        #expect(try run(url, "--http1.1") == (.success, "HTTP/1.1 200 OK"))
        let other = try ScriptedServer.answering(
            .text("hello"),
            tls: TLSServerOptions(authority: authority).with { $0.applicationProtocols = ["http/1.1"] })
        defer { other.stop() }
        #expect(try run(other.url("/", host: "localhost"), "--http2") == (.noHTTP2, nil))
        let server = try server(["h1", "h2"])
        defer { server.stop() }
        #expect(try run(server.secureURL("/small"), "--http3") == (.noHTTP3, nil))
    }

    // CONN-2, R-1
    @Test("a redirect to http does not bypass the version", arguments: [("--http2", ExitCode.noHTTP2)])
    func redirects(_ name: String, _ exit: ExitCode) throws {
        let plain = try ScriptedServer.answering(.text("hello"))
        defer { plain.stop() }
        let redirect = """
            { "handle": [{
                "handler": "static_response", "status_code": 302, "headers": { "Location": ["\(plain.url("/"))"] }
            }] },
            """
        let server = try CaddyServer(files: [:], authority: authority, protocols: ["h1", "h2"], routes: redirect)
        defer { server.stop() }
        #expect(try run(server.secureURL("/"), name).exit == exit)
        #expect(plain.connectionCount == 0)
    }
}
