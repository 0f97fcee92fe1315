import Foundation
import TestSupport
import Testing
import URLSessionCommandCore

/// `-v` and `-i`: what went over the wire, in its order.
@Suite struct VerboseTests {
    private func server() throws -> ScriptedServer {
        try .answering { request in
            switch request.path {
            case "/a": .redirect(to: "/b").with(field: "Set-Cookie", "sid=s3cret; Path=/")
            case "/b" where request["Authorization"] == nil:
                .text("who?", status: 401).with(field: "WWW-Authenticate", "Basic realm=\"r\"")
            default: .text("hello").with(field: "Zeta", "1").with(field: "Alpha", "2")
            }
        }
    }

    /// The lines with that mark, without what differs from run to run.
    private func lines(_ output: String, _ mark: Character) -> [String] {
        output.split(separator: "\n").filter { $0.first == mark }
            .map { line in String(line.drop { $0 == mark || $0 == " " }) }
            .filter { !$0.isEmpty }
    }

    // MISC-1, AUTH-17, R-1: each request as the server got it, those that are sent again among them
    @Test("each request, as it went out") func requests() throws {
        let harness = try CommandHarness(server())
        defer { harness.server.stop() }
        let (exit, output) = try harness.run(
            harness.server.url("/a?access_token=s3cret").absoluteString, "-v", "-s", "-u", "ann:s3cret", "-H", "X-A: 1",
            "-o", harness.target.path)
        #expect(exit == .code(0))
        let sent = harness.server.requests
        #expect(sent.map(\.path) == ["/a", "/b", "/b"])
        let expected = sent.map { request in
            ["\(request.method) \(request.target) HTTP/1.1"] + request.fields.map { "\($0.name): \($0.value)" }
        }
        let hidden = expected.flatMap { $0 }.map { line in
            line.replacing(#/^(Authorization: Basic|Cookie:) .*/#) { "\($0.output.1) [redacted]" }
                .replacing("access_token=s3cret", with: "access_token=[redacted]")
                .replacing("127.0.0.1:\(harness.server.port)", with: "PLACE")
        }
        #expect(lines(output, ">") == hidden)
        #expect(hidden.contains("Authorization: Basic [redacted]"))
        #expect(hidden.contains("Cookie: [redacted]"))
        #expect(hidden.contains { $0.hasPrefix("User-Agent: urlsession/\(Command.version) ") })
        #expect(
            lines(output, "<").filter { $0.hasPrefix("HTTP/") } == [
                "HTTP/1.1 302 Found", "HTTP/1.1 401 Unauthorized", "HTTP/1.1 200 OK",
            ])
        #expect(!output.contains("s3cret"))
        // Request and response by turns.
        let marks = output.split(separator: "\n").compactMap { line -> Character? in
            line.hasPrefix("> GET") ? ">" : line.hasPrefix("< HTTP") ? "<" : nil
        }
        #expect(String(marks) == "><><><")
    }

    @Test("-vv shows secrets") func secrets() throws {
        let harness = try CommandHarness(server())
        defer { harness.server.stop() }
        let (_, output) = try harness.run(
            harness.server.url("/b").absoluteString, "-vv", "-s", "-u", "ann:s3cret", "-o", harness.target.path)
        #expect(output.contains("> Authorization: Basic " + Data("ann:s3cret".utf8).base64EncodedString()))
    }

    // T-33
    @Test("every head, in the order of the wire") func heads() throws {
        let harness = try CommandHarness(server())
        defer { harness.server.stop() }
        let (exit, output) = try harness.run(harness.server.url("/a").absoluteString, "-i", "-s", "-u", "ann:s3cret")
        #expect(exit == .code(0))
        let heads = output.replacing("\r\n", with: "\n").components(separatedBy: "\n\n")
        #expect(
            heads.map { $0.split(separator: "\n").first.map(String.init) } == [
                "HTTP/1.1 302 Found", "HTTP/1.1 401 Unauthorized", "HTTP/1.1 200 OK", "hello",
            ])
        let names = heads.dropFirst(2).first?.split(separator: "\n").dropFirst().map { $0.prefix { $0 != ":" } }
        let zeta = names?.firstIndex(of: "Zeta")
        let alpha = names?.firstIndex(of: "Alpha")
        #expect(zeta != nil && alpha == zeta.map { $0 + 1 })
    }

    // MET-1: what the status line had, and nothing else
    @Test("the reason phrase of the wire", arguments: ["-v", "-i"], ["All Fine", ""])
    func reasons(option: String, reason: String) throws {
        let harness = try CommandHarness(.answering { _ in CannedResponse(200, reason: reason, body: .bytes([])) })
        defer { harness.server.stop() }
        let (exit, output) = try harness.run(harness.server.url("/").absoluteString, option, "-s")
        #expect(exit == .code(0))
        let text = output.replacing("\r\n", with: "\n").replacing("< ", with: "")
        #expect(text.contains("HTTP/1.1 200\(reason.isEmpty ? "" : " " + reason)\n"))
        #expect(!text.contains("200 OK"))
    }

    // TLS-5
    @Test("the certificates of a server, and why it is not trusted") func certificates() throws {
        let authority = try TestCertificateAuthority()
        let harness = try CommandHarness(.answering(.text("hello"), tls: TLSServerOptions(authority: authority)))
        defer { harness.server.stop() }
        let url = harness.server.url("/", host: "localhost").absoluteString
        let root = try harness.folder.write(authority.root.pem, to: "root.pem").path
        let (exit, output) = try harness.run(url, "-v", "-s", "--cacert", root)
        #expect(exit == .code(0))
        let chain = output.split(separator: "\n").filter { $0.hasPrefix("*   ") }
        #expect(chain.count >= 2)
        #expect(chain.first?.hasPrefix("*   0 ") == true)
        #expect(chain.allSatisfy { $0.contains(#/, valid from \d{4}-\d\d-\d\dT.*Z until \d{4}-\d\d-\d\dT.*Z$/#) })
        let unknown = try harness.run(url)
        #expect(unknown.exit == .code(60))
        #expect(
            unknown.output.hasPrefix("urlsession: the certificate of localhost:\(harness.server.port) is not trusted (")
        )
        let otherRoot = try harness.folder.write(try TestCertificateAuthority().root.pem, to: "other.pem").path
        let other = try harness.run(url, "--cacert", otherRoot)
        #expect(other.exit == .code(60))
        #expect(other.output.hasPrefix("urlsession: the certificate of localhost is not trusted by --cacert: "))
        // The certificates of a server that is refused come before the reason.
        let refusals: [(arguments: [String], reason: String)] = [
            ([], unknown.output), (["--cacert", otherRoot], other.output),
        ]
        for (arguments, reason) in refusals {
            let refused = try ChildProcess.run(CommandHarness.executable(), [url, "-v"] + arguments)
            #expect(refused.exit == .code(60))
            let lines = refused.output.split(separator: "\n")
            #expect(lines.first == "* certificates of localhost:")
            let shown = lines.dropFirst().prefix { $0.hasPrefix("*   ") }
            #expect(shown.first == chain.first && chain.starts(with: shown))
            #expect(lines.filter { $0.hasPrefix("urlsession: ") }.map { "\($0)\n" } == [reason])
            #expect(lines.last?.hasPrefix("urlsession: ") == true)
        }
    }

    // PROXY-10
    @Test("a proxy that is not there is named") func proxies() throws {
        let harness = try CommandHarness(.answering(.text("hello")))
        defer { harness.server.stop() }
        let port = try DemoServer.unusedPort()
        for (url, name) in [("http://far.test/", "http_proxy"), ("https://far.test/", "https_proxy")] {
            let (exit, output) = try harness.run(
                url, environment: [name: "http://127.0.0.1:\(port)", "no_proxy": "", "NO_PROXY": ""])
            #expect(exit == .code(7))
            #expect(
                output.hasPrefix("urlsession: could not reach far.test through the proxy http://127.0.0.1:\(port) ("))
        }
    }

    // PROXY-10: the variables name one, and the session does not use it for hosts of this machine
    @Test("a proxy that was not used is not blamed", arguments: ["all_proxy", "http_proxy"])
    func unusedProxies(name: String) throws {
        let port = try RefusingPort()
        let proxy = try RefusingPort()
        let harness = try CommandHarness(.answering(.text("hello")))
        defer { harness.server.stop() }
        func failure(_ url: String) throws -> String {
            try harness.run(
                url, environment: [name: "socks5://ann:s3cret@127.0.0.1:\(proxy.port)", "no_proxy": "", "NO_PROXY": ""]
            ).output
        }
        #expect(
            try failure("http://127.0.0.1:\(port.port)/")
                == "urlsession: could not connect to 127.0.0.1:\(port.port) (connection refused): "
                + "is the server running, and is the port right?\n")
        #expect(
            try failure("http://far.test/")
                == "urlsession: could not reach far.test through the proxy socks5://127.0.0.1:\(proxy.port) "
                + "(connection refused): is the proxy running, and does it allow that?\n")
    }

    private func environment(_ proxy: ScriptedServer) -> [String: String] {
        ["https_proxy": "http://ann:s3cret@127.0.0.1:\(proxy.port)", "no_proxy": "", "NO_PROXY": ""]
    }

    // AUTH-28
    @Test("CONNECT requests and refusals") func refusedTunnels() throws {
        let proxy = try ScriptedServer.answering { _ in
            .text("who?", status: 407).with(field: "Proxy-Authenticate", "Basic realm=\"r\"")
        }
        defer { proxy.stop() }
        let harness = try CommandHarness(proxy)
        let archive = harness.folder.file("har")
        let (exit, output) = try harness.run(
            "https://far.test/", "-v", "--har", archive.path, environment: environment(proxy))
        #expect(exit == .code(7))
        let sent = proxy.requests.flatMap { request in
            ["\(request.method) \(request.target) \(request.version)"]
                + request.fields.map { "\($0.name): \($0.value)" }
        }
        let user = "Proxy-Authorization: Basic " + Data("ann:s3cret".utf8).base64EncodedString()
        #expect(sent.prefix(3) == ["CONNECT far.test:443 HTTP/1.1", "Host: far.test:443", user][...])
        #expect(lines(output, ">") == sent.map { $0 == user ? "Proxy-Authorization: Basic [redacted]" : $0 })
        let answers = lines(output, "<").filter { $0.hasPrefix("HTTP/") }
        #expect(answers == proxy.requests.map { _ in "HTTP/1.1 407 Proxy Authentication Required" })
        #expect(
            output.split(separator: "\n").last.map(String.init)
                == "urlsession: could not reach far.test through the proxy SERVER "
                + "(it requires authentication: 407 Proxy Authentication Required): "
                + "put NAME:PASSWORD@ before its host, or check them")
        let data = try Data(contentsOf: archive)
        #expect(HARSchema.faults(in: data) == [])
        let entries = try JSONDecoder().decode(HARDocument.self, from: data).log.entries
        let rounds = entries.filter { $0.request.method == "CONNECT" }
        #expect(rounds.map(\.response.status) == proxy.requests.map { _ in 407 })
        #expect(rounds.first?.request.url == "https://far.test:443")
        #expect(rounds.first?.request.headers.last == .init("Proxy-Authorization", "Basic [redacted]"))
        #expect(entries.count == rounds.count + 1)
        #expect(!String(decoding: data, as: UTF8.self).contains("s3cret"))
    }

    // PROXY-10
    @Test("a proxy's response is printed") func otherRefusals() throws {
        let proxy = try ScriptedServer.answering(.text("no", status: 403))
        defer { proxy.stop() }
        let (exit, output) = try CommandHarness(proxy).run("https://far.test/", environment: environment(proxy))
        #expect(exit == .code(7))
        #expect(
            output == "urlsession: could not reach far.test through the proxy SERVER "
                + "(it answered 403 Forbidden): does it allow that?\n")
    }

    // PROXY-5, T-33: a tunnel is shown, and its head is not that of a response
    @Test("a tunnel that is made") func tunnels() throws {
        let authority = try TestCertificateAuthority()
        let harness = try CommandHarness(.answering(.text("hello"), tls: TLSServerOptions(authority: authority)))
        defer { harness.server.stop() }
        let port = harness.server.port
        let proxy = try ScriptedServer { connection in
            _ = try connection.readRequest()
            try connection.send("HTTP/1.1 200 Made\r\nVia: x\r\n\r\n")
            try connection.relay(to: port)
        }
        defer { proxy.stop() }
        let arguments = ["https://far.test/", "-k", "-s"]
        let verbose = try ChildProcess.run(
            CommandHarness.executable(), arguments + ["-v", "-o", harness.target.path], environment: environment(proxy))
        #expect(verbose.exit == .code(0))
        #expect(
            lines(verbose.output, ">").filter { $0.hasSuffix("HTTP/1.1") } == [
                "CONNECT far.test:443 HTTP/1.1", "GET / HTTP/1.1",
            ])
        #expect(
            lines(verbose.output, "<").filter { $0.hasPrefix("Via") || $0.hasPrefix("HTTP/") } == [
                "HTTP/1.1 200 Made", "Via: x", "HTTP/1.1 200 OK",
            ])
        let printed = try ChildProcess.run(
            CommandHarness.executable(), arguments + ["-i"], environment: environment(proxy))
        let parts = printed.output.replacing("\r\n", with: "\n").components(separatedBy: "\n\n")
        #expect(parts.count == 2 && parts.last == "hello")
        #expect(!printed.output.contains("Via"))
    }

    @Test("one redirect is one") func redirects() throws {
        let harness = try CommandHarness(.answering { _ in .redirect(to: "/again") })
        defer { harness.server.stop() }
        let (exit, output) = try harness.run(harness.server.url("/").absoluteString, "--max-redirects", "1")
        #expect(exit == .code(47))
        #expect(output.hasPrefix("urlsession: more than 1 redirect from SERVER/"))
    }
}
