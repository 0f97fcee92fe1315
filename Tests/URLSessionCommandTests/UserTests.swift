import Foundation
import TestSupport
import Testing
import URLSessionCommandCore

/// `--user` and the schemes, against servers that ask.
@Suite struct UserTests {
    private func server(_ challenges: [String]) throws -> ScriptedServer {
        try ScriptedServer.answering { request in
            if request["Authorization"] == "Basic " + Data("ali:open sesame".utf8).base64EncodedString() {
                return .text("in")
            }
            return challenges.reduce(CannedResponse.text("who are you?", status: 401)) {
                $0.with(field: "WWW-Authenticate", $1)
            }
        }
    }

    private func run(_ url: URL, _ arguments: String...) throws -> (exit: ExitCode, body: String?) {
        let folder = try TemporaryDirectory()
        let exit = Command.run(
            arguments: [url.absoluteString, "-s", "-f", "-o", folder.file("body").path] + arguments,
            terminal: Terminal())
        return (exit, try? String(contentsOf: folder.file("body"), encoding: .utf8))
    }

    // AUTH-4, AUTH-16: by the strongest scheme, unless the switches allow another only
    @Test func theUserIsLetIn() throws {
        let basic = "Basic realm=\"r\""
        let digest = "Digest realm=\"r\", nonce=\"n\", qop=auth"
        let server = try server([basic])
        defer { server.stop() }
        #expect(try run(server.url(), "-u", "ali:open sesame") == (.success, "in"))
        #expect(try run(server.url(), "--user=ali:wrong").exit == .httpError)
        #expect(try run(server.url()).exit == .httpError)
        #expect(try run(server.url(), "-u", "ali:open sesame", "--digest", "--ntlm").exit == .httpError)
        let both = try self.server([basic, digest])
        defer { both.stop() }
        #expect(try run(both.url(), "-u", "ali:open sesame", "--basic") == (.success, "in"))
        #expect(try run(both.url(), "-u", "ali:open sesame").exit == .httpError)
        #expect(both.requests.last?["Authorization"]?.hasPrefix("Digest username=\"ali\"") == true)
    }

    // AUTH-12: what is said is for one host
    @Test func aRedirectLeadsToAStranger() throws {
        let stranger = try server(["Basic realm=\"r\""])
        defer { stranger.stop() }
        let server = try ScriptedServer.answering(.redirect(to: stranger.url().absoluteString))
        defer { server.stop() }
        #expect(try run(server.url(), "-u", "ali:open sesame").exit == .httpError)
        #expect(stranger.requests.map { $0["Authorization"] } == [nil])
    }

    @Test func archivesAndTracesKeepTheSecret() throws {
        let server = try server(["Basic realm=\"r\""])
        defer { server.stop() }
        let folder = try TemporaryDirectory()
        let path = folder.file("load.har").path
        #expect(try run(server.url(), "-u", "ali:open sesame", "--har", path).exit == .success)
        let archive = try String(contentsOfFile: path, encoding: .utf8)
        #expect(archive.contains("\"status\" : 401"))
        for secret in ["sesame", Data("ali:open sesame".utf8).base64EncodedString()] {
            #expect(!archive.contains(secret))
        }
    }

    @Test func theSwitches() throws {
        guard case .load(let request) = try Arguments.parse(["-uali:a:b", "--ntlm", "--negotiate", "http://x/"]) else {
            Issue.record("no load")
            return
        }
        #expect(request.user == "ali:a:b")
        #expect(request.schemes == [.ntlm, .negotiate])
        #expect(try run(URL(fileURLWithPath: "/"), "--user", "").exit == .usage)
    }
}
