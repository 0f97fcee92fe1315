import Foundation
import TestSupport
import Testing
import URLLoading

@testable import URLSessionCommandCore

/// `--user` and the schemes, against servers that require authentication.
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
    @Test func theUserIsAuthenticated() throws {
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

    @Test func passwordFromTheTerminal() throws {
        let server = try server(["Basic realm=\"r\""])
        defer { server.stop() }
        let command = try TerminalCommand(["-s", "-u", "ali", server.url().absoluteString])
        try command.waitFor("Password of ali: ")
        try command.enter("opem\u{7F}n sesame\n")
        let output = try command.finish()
        #expect(output.hasPrefix("inexit 0\n"), "\(output)")
        #expect(output.contains(" echo "))
    }

    @Test(arguments: [false, true]) func onePasswordForAllLoads(isParallel: Bool) throws {
        let isBusy = Watched(true)
        let server = try ScriptedServer.answering { request in
            guard request["Authorization"] == "Basic " + Data("ali:open sesame".utf8).base64EncodedString() else {
                return CannedResponse.text("who are you?", status: 401)
                    .with(field: "WWW-Authenticate", "Basic realm=\"r\"")
            }
            return isBusy.withValue { busy in
                defer { busy = false }
                return CannedResponse.text(busy ? "later" : "in", status: busy ? 503 : 200)
            }
        }
        defer { server.stop() }
        let folder = try TemporaryDirectory()
        var words = ["-s", "-f", "-u", "ali", "--retry", "1", "--retry-delay", "0.01"] + (isParallel ? ["-Z"] : [])
        for name in ["a", "b"] { words += ["-o", folder.file(name).path, server.url("/" + name).absoluteString] }
        guard case .loads(let requests, let options) = try Arguments.parse(words) else {
            Issue.record("no loads")
            return
        }
        var names: [String] = []
        let series = try LoadSeries(requests, options, terminal: Terminal()) { name in
            names.append(name)
            return "open sesame"
        }
        #expect(try series.run() == .success)
        #expect(names == ["ali"])
        for name in ["a", "b"] { #expect(try String(contentsOf: folder.file(name), encoding: .utf8) == "in") }
    }

    /// Ctrl-C, and Ctrl-D, the end of input.
    @Test(arguments: [
        ("\u{3}", "exit 130\n"),
        ("\u{4}", "urlsession: no password was entered for ali (try 'urlsession --help')\nexit 2\n"),
    ])
    func passwordThatIsNotEntered(_ key: String, _ outcome: String) throws {
        let command = try TerminalCommand(["-u", "ali", "http://127.0.0.1:1/"])
        try command.waitFor("Password of ali: ")
        try command.enter(key)
        let output = try command.finish()
        #expect(output.hasPrefix(outcome), "\(output)")
        #expect(output.contains(" echo "))
    }

    // the delegate puts the field back for the server that it was given for
    @Test(arguments: [["--oauth2-bearer", "t"], ["-H", "Authorization: Bearer t"]])
    func tokensAfterARedirect(_ token: [String]) throws {
        let otherServer = try ScriptedServer.answering { .text($0["Authorization"] ?? "-") }
        defer { otherServer.stop() }
        let other = otherServer.url("/end").absoluteString
        let server = try ScriptedServer.answering { request in
            switch request.path {
            case "/here": .redirect(to: "/end")
            case "/there": .redirect(to: other)
            default: .text(request["Authorization"] ?? "-")
            }
        }
        defer { server.stop() }
        for (path, sent) in [("/here", "Bearer t"), ("/there", "-")] {
            let line = ["-s"] + token + [server.url(path).absoluteString]
            #expect(try RunningCommand.run(line).output == sent, "\(path)")
        }
    }

    // AUTH-12: what is said is for one host
    @Test func noCredentialsAfterARedirectToAnotherServer() throws {
        let otherServer = try server(["Basic realm=\"r\""])
        defer { otherServer.stop() }
        let server = try ScriptedServer.answering(.redirect(to: otherServer.url().absoluteString))
        defer { server.stop() }
        #expect(try run(server.url(), "-u", "ali:open sesame").exit == .httpError)
        #expect(otherServer.requests.map { $0["Authorization"] } == [nil])
    }

    // AUTH-4, AUTH-12, MISC-17: whatever the switches say of HTTP's ways
    @Test func theUserOfAnFTPServer() throws {
        var options = FTPServer.Options()
        options.files = ["/a.txt": Array("in".utf8)]
        options.users = ["ali": "open sesame"]
        let server = try FTPServer(options)
        defer { server.stop() }
        let url = server.url("/a.txt")
        #expect(try run(url, "-u", "ali:open sesame") == (.success, "in"))
        #expect(try run(url, "-u", "ali:open sesame", "--digest") == (.success, "in"))
        #expect(try run(url, "-u", "ali:wrong").exit != .success)
        #expect(try run(url).exit != .success)
    }

    // AUTH-12
    @Test(
        "which servers get the credential",
        arguments: [
            ("https://a.test/", "https", "a.test", 443, true), ("https://a.test/", "http", "a.test", 443, false),
            ("https://a.test:80/", "http", "a.test", 80, false), ("http://a.test:443/", "https", "a.test", 443, false),
            ("HTTP://A.test/", "http", "a.TEST", 80, true), ("http://a.test/", "http", "a.test", 8080, false),
            ("http://a.test/", "http", "b.test", 80, false), ("ftp://a.test/", "ftp", "a.test", 21, true),
            ("ftp://a.test/", "ftp", "a.test", 80, false), ("http://a.test:21/", "ftp", "a.test", 21, false),
        ])
    func places(url: String, scheme: String, host: String, port: Int, isKnown: Bool) throws {
        guard case .load(let request) = try Arguments.parse(["-u", "ali:open sesame", url]) else {
            Issue.record("no load")
            return
        }
        let answers = try UserChallengeResponder(request, url: URL(string: url))
        let method = scheme == "ftp" ? NSURLAuthenticationMethodDefault : NSURLAuthenticationMethodHTTPBasic
        let space = URLProtectionSpace(
            host: host, port: port, protocol: scheme, realm: nil, authenticationMethod: method)
        let challenge = URLAuthenticationChallenge(
            protectionSpace: space, proposedCredential: nil, previousFailureCount: 0, failureResponse: nil, error: nil,
            sender: Sender())
        #expect((answers.answer(to: challenge).1?.user == "ali") == isKnown)
    }

    /// A sender for challenges, which is never called.
    private final class Sender: NSObject, URLAuthenticationChallengeSender {
        func use(_ credential: URLCredential, for challenge: URLAuthenticationChallenge) {}
        func continueWithoutCredential(for challenge: URLAuthenticationChallenge) {}
        func cancel(_ challenge: URLAuthenticationChallenge) {}
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
