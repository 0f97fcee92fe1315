import Foundation
import TestSupport
import Testing

/// Proxy environment variables. Each test starts a program with its own environment.
@Suite struct ProxyEnvironmentTests {
    private static let names = ["http_proxy", "https_proxy", "ftp_proxy", "all_proxy", "no_proxy"]

    /// The output of a program that loads the URLs in order.
    private func run(_ variables: [String: String], _ urls: String...) throws -> [String] {
        // An empty one is as good as none.
        var environment = [String: String]()
        for name in Self.names {
            environment[name] = ""
            environment[name.uppercased()] = ""
        }
        return try SessionUser().run(
            ["ephemeral"] + urls, environment: environment.merging(variables) { $1 })
    }

    private func proxy() throws -> ScriptedServer { try ScriptedServer.answering { .text("for " + $0.target) } }

    // PROXY-8, PROXY-5, PROXY-2
    @Test("http_proxy, with a user, in small and large letters", arguments: ["http_proxy", "HTTP_PROXY"])
    func http(name: String) throws {
        let proxy = try proxy()
        defer { proxy.stop() }
        let address = "http://me:secret@127.0.0.1:\(proxy.port)"
        #expect(
            try run([name: address], "http://far.test/x?y", "http://other.test:81/") == [
                "200 for http://far.test/x?y", "200 for http://other.test:81/",
            ])
        let field = "Basic " + Data("me:secret".utf8).base64EncodedString()
        #expect(proxy.requests.map { $0["Proxy-Authorization"] } == [field, field])
    }

    // PROXY-8: under CGI that is what a client of the web server has said
    @Test("HTTP_PROXY is not believed under CGI") func cgi() throws {
        let server = try ScriptedServer.answering(.text("direct"))
        let proxy = try proxy()
        defer {
            server.stop()
            proxy.stop()
        }
        let variables = ["HTTP_PROXY": "http://127.0.0.1:\(proxy.port)", "REQUEST_METHOD": "GET"]
        #expect(try run(variables, server.url().absoluteString) == ["200 direct"])
        #expect(try run(variables, "http://far.test/").first?.hasPrefix("failed ") == true)
        #expect(proxy.connectionCount == 0)
    }

    // PROXY-8, PROXY-5
    @Test("https_proxy, and all_proxy as the default", arguments: ["https_proxy", "all_proxy"])
    func https(name: String) throws {
        let profile = CertificateProfile.server(CertificateProfile.Name("far.test"))
        let server = try ScriptedServer.answering(tls: try TrustedAuthority.server(profile)) { .text("in " + $0.path) }
        defer { server.stop() }
        let authProxy = try ScriptedProxy(to: server) { .text("for " + $0.target) }
        defer { authProxy.stop() }
        let variables = [name: "http://127.0.0.1:\(authProxy.server.port)"]
        #expect(try run(variables, "https://far.test/x") == ["200 in /x"])
        #expect(authProxy.server.requests.map { $0.method + " " + $0.target } == ["CONNECT far.test:443"])
        if name == "all_proxy" { #expect(try run(variables, "http://far.test/x") == ["200 for http://far.test/x"]) }
    }

    // PROXY-8, PROXY-5: the name is the proxy's to resolve
    @Test("all_proxy, by SOCKS4a", arguments: ["socks4a", "socks4"]) func socks(scheme: String) throws {
        let proxy = try ScriptedServer.socks4 { .text("for \($0) \($1.path)") }
        defer { proxy.stop() }
        #expect(
            try run(["all_proxy": "\(scheme)://127.0.0.1:\(proxy.port)"], "http://far.test/x", "http://far.test:81/")
                == [
                    "200 for far.test:80 /x", "200 for far.test:81 /",
                ])
    }

    // PROXY-8, PROXY-9
    @Test("no_proxy", .inNetworkNamespace, .needsNetworkNamespace, .needsNameServer) func past() throws {
        try NetworkNamespace.raiseLoopback()
        let names = try NameServer { $0.type == .ipv4 ? .address([127, 0, 0, 1]) : .nothing }
        defer { names.stop() }
        let server = try ScriptedServer.answering { .text("at " + $0.target) }
        defer { server.stop() }
        let proxy = try proxy()
        defer { proxy.stop() }
        let variables = ["http_proxy": "127.0.0.1:\(proxy.port)", "no_proxy": "x.test, .near.test"]
        #expect(
            try run(
                variables, "http://a.near.test:\(server.port)/1", "http://far.test/2", server.url("/3").absoluteString)
                == ["200 at /1", "200 for http://far.test/2", "200 at /3"])
    }

    // PROXY-8, PROXY-10: to go without it would show the user's network what it was to hide
    @Test("a proxy that there cannot be") func unusable() throws {
        #expect(
            try run(["http_proxy": "quic://127.0.0.1:1"], "http://far.test/")
                == ["failed -1004 Could not connect to the server."])
    }
}
