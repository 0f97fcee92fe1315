import Foundation
import TestSupport
import Testing

/// A program that cannot load some libraries, because other files with their names are found first.
@Suite(.leavesNothing) struct MissingLibraryTests {
    private func run(without names: [String], _ addresses: URL...) throws -> [String] {
        try run(without: names, ["ephemeral"] + addresses.map(\.absoluteString))
    }

    private func run(without names: [String], _ arguments: [String]) throws -> [String] {
        let libraries = try TemporaryDirectory()
        for name in names { _ = try libraries.write("no library", to: name) }
        let variables = ["LD_LIBRARY_PATH": libraries.path]
        return try SessionUser().run(arguments, environment: variables)
            .map { $0.replacingOccurrences(of: libraries.path + "/", with: "") }
    }

    // ERR-3, TLS-5
    @Test("an error names the missing library, and everything else works") func openSSL() throws {
        let server = try ScriptedServer.answering(.text("in clear"))
        let secure = try ScriptedServer.answering(.text("secure"), tls: TrustedAuthority.server())
        defer {
            server.stop()
            secure.stop()
        }
        let refusal = "failed -1200 A library could not be loaded: libssl.so.3: file too short"
        #expect(
            try run(without: ["libssl.so.3", "libssl.so"], secure.url(), server.url(), secure.url())
                == [refusal, "200 in clear", refusal])
    }

    // ERR-3
    @Test("an archive is not to blame") func importing() throws {
        let status = "-67585 The required service is not available: OpenSSL cannot be loaded."
        #expect(try run(without: ["libssl.so.3", "libssl.so"], ["import"]) == [status])
        #expect(try SessionUser().run("import") == ["-26275 The data could not be decoded."])
    }

    // CONN-6: it is advertised on the server's port, without a UDP server
    @Test("without the libraries of HTTP/3 there is TCP") func http3() throws {
        let server = try ScriptedServer.answering(tls: TrustedAuthority.server()) { request in
            let port = request["Host"]?.split(separator: ":").last ?? ""
            return .text("over TCP").with(field: "Alt-Svc", "h3=\":\(port)\"")
        }
        defer { server.stop() }
        let names = ["libngtcp2_crypto_gnutls.so.2", "libngtcp2_crypto_gnutls.so.8"]
        #expect(try run(without: names, server.url(), server.url()) == ["200 over TCP", "200 over TCP"])
    }
}
