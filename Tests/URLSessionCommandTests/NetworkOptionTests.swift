import Foundation
import TestSupport
import Testing

/// `-x`, `--noproxy`, `--resolve`, `--connect-to`, `-4`, `-6` and `--unix-socket`.
@Suite struct NetworkOptionTests {
    // PROXY-1, PROXY-9: a proxy that is named is used for this machine too
    @Test func proxies() throws {
        let proxy = try CommandHarness(.answering { .text("\($0.target) \($0["Proxy-Authorization"] ?? "-")") })
        defer { proxy.server.stop() }
        let url = "http://127.0.0.1:1/a"
        let place = "127.0.0.1:\(proxy.server.port)"
        #expect(try proxy.runInFolder(["-s", "-x", place, url]).output == "\(url) -")
        #expect(
            try proxy.runInFolder(["-s", "-x", "http://\(place)", "http://nowhere.invalid/"]).output
                == "http://nowhere.invalid/ -")
        let user = ["-s", "-x", place, "-U", "me:p:w", url]
        #expect(try proxy.runInFolder(user).output == "\(url) Basic \(Data("me:p:w".utf8).base64EncodedString())")
        for list in ["127.0.0.1", "*", "other,127.0.0.0/8"] {
            #expect(try proxy.runInFolder(["-s", "-x", place, "--noproxy", list, url]).exit == .code(7))
        }
        let environment = ["http_proxy": "http://\(place)"]
        #expect(
            try proxy.runInFolder(["-s", "http://a.invalid/"], environment: environment).output == "http://a.invalid/ -"
        )
        let direct = ["-s", "--noproxy", "a.invalid", "http://a.invalid/"]
        #expect(try proxy.runInFolder(direct, environment: environment).exit == .code(6))
        #expect(
            try proxy.runInFolder(["-s", "-x", "", "http://a.invalid/"], environment: environment).exit == .code(6))
    }

    /// The proxy would be reached at the other place, and get its password there.
    @Test func otherAddressesAreReachedWithoutProxy() throws {
        let harness = try CommandHarness(.answering { .text("\($0.target) \($0["Proxy-Authorization"] ?? "-")") })
        defer { harness.server.stop() }
        let port = harness.server.port
        let environment = ["http_proxy": "http://u:p@127.0.0.1:1"]
        for option in [["--connect-to", "::127.0.0.1:\(port)"], ["--resolve", "*:\(port):127.0.0.1"]] {
            let line = ["-s"] + option + ["http://name.invalid:\(port)/a"]
            #expect(try harness.runInFolder(line, environment: environment).output == "/a -")
            let both = try harness.runInFolder(["-x", "127.0.0.1:1"] + line)
            #expect(both.exit == .code(2))
            #expect(both.output == "urlsession: -x and \(option[0]) exclude each other (try 'urlsession --help')\n")
        }
    }

    // PROXY-5
    @Test func socksProxies() throws {
        let socks = try ScriptedServer.socks4 { place, request in .text("\(place) \(request.target)") }
        defer { socks.stop() }
        let line = ["-s", "-x", "socks4a://127.0.0.1:\(socks.port)", "http://a.invalid:81/b"]
        #expect(try RunningCommand.run(line).output == "a.invalid:81 /b")
    }

    // PROXY-5: the proxy gets the name
    @Test func socks5Proxy() throws {
        let harness = try CommandHarness(.answering { .text("\($0.target) \($0["Host"] ?? "-")") })
        defer { harness.server.stop() }
        let socks = try ScriptedServer.socks5(to: harness.server)
        defer { socks.stop() }
        let proxy = "socks5h://127.0.0.1:\(socks.port)"
        #expect(try harness.runInFolder(["-s", "-x", proxy, "http://a.invalid:81/b"]).output == "/b a.invalid:81")
        #expect(socks.connectionCount == 1)
    }

    // PROXY-1: the connection to the proxy is encrypted too, and its certificate is checked
    @Test func encryptedProxy() throws {
        let authority = try TestCertificateAuthority()
        let proxy = try CommandHarness(.answering(tls: TLSServerOptions(authority: authority)) { .text($0.target) })
        defer { proxy.server.stop() }
        let root = try proxy.write(authority.root.pem, to: "root.pem")
        let line = ["-s", "-x", "https://localhost:\(proxy.server.port)", "http://nowhere.invalid/a"]
        #expect(try proxy.runInFolder(["--cacert", root] + line).output == "http://nowhere.invalid/a")
        #expect(try proxy.runInFolder(line).exit == .code(60))
    }

    @Test func otherAddresses() throws {
        let harness = try CommandHarness(.answering { .text($0["Host"] ?? "-") })
        defer { harness.server.stop() }
        let port = harness.server.port
        let url = "http://name.invalid:\(port)/"
        #expect(try harness.runInFolder(["-s", url]).exit == .code(6))
        let resolved = ["-s", "--resolve", "name.invalid:\(port):[::9],127.0.0.1", "-4", url]
        #expect(try harness.runInFolder(resolved).output == "name.invalid:\(port)")
        let any = ["-s", "--resolve", "*:\(port):127.0.0.1", url]
        #expect(try harness.runInFolder(any).output == "name.invalid:\(port)")
        let removed = ["-s", "--resolve", "name.invalid:\(port):127.0.0.1", "--resolve", "-name.invalid:\(port)", url]
        #expect(try harness.runInFolder(removed).exit == .code(6))
        for rule in ["name.invalid:80:127.0.0.1:\(port)", "::127.0.0.1:\(port)", "name.invalid::127.0.0.1:\(port)"] {
            let line = ["-s", "--connect-to", rule, "http://name.invalid/"]
            #expect(try harness.runInFolder(line).output == "name.invalid")
        }
        let other = ["-s", "--connect-to", "name.invalid:81:127.0.0.1:\(port)", "http://name.invalid/"]
        #expect(try harness.runInFolder(other).exit == .code(6))
    }

    /// The certificate is that of the host in the URL.
    @Test func otherAddressesWithTLS() throws {
        let authority = try TestCertificateAuthority()
        let harness = try CommandHarness(.answering(.text("hello"), tls: TLSServerOptions(authority: authority)))
        defer { harness.server.stop() }
        let root = try harness.write(authority.root.pem, to: "root.pem")
        let rule = ["-s", "--cacert", root, "--connect-to", "::127.0.0.1:\(harness.server.port)"]
        #expect(try harness.runInFolder(rule + ["https://localhost/"]).output == "hello")
        #expect(try harness.runInFolder(rule + ["https://other.invalid/"]).exit == .code(60))
    }

    // CONN-9
    @Test func addressFamilies() throws {
        var options = ScriptedServer.Options()
        options.addresses = [Loopback.ipv4]
        let harness = try CommandHarness(.answering(.text("four"), options: options))
        defer { harness.server.stop() }
        let url = "http://localhost:\(harness.server.port)/"
        #expect(try harness.runInFolder(["-s", "-4", url]).output == "four")
        #expect(try harness.runInFolder(["-s", "-6", url]).exit == .code(7))
        #expect(try harness.runInFolder(["-s", "-6", harness.url()]).exit == .code(7))
    }

    // CONN-9
    @Test func onlyAddressesOfIPv6() throws {
        var options = ScriptedServer.Options()
        options.addresses = [Loopback.ipv6]
        let harness = try CommandHarness(.answering(.text("six"), options: options))
        defer { harness.server.stop() }
        let port = harness.server.port
        let named = ["-s", "--resolve", "name.invalid:\(port):127.0.0.1,[::1]", "http://name.invalid:\(port)/"]
        #expect(try harness.runInFolder(["-6"] + named).output == "six")
        #expect(try harness.runInFolder(["-4"] + named).exit == .code(7))
        #expect(try harness.runInFolder(["-s", "--ipv6", "http://[::1]:\(port)/"]).output == "six")
    }

    @Test(arguments: ["--unix-socket", "--abstract-unix-socket"]) func localSockets(_ option: String) async throws {
        let folder = try TemporaryDirectory()
        let isAbstract = option.contains("abstract")
        let name = isAbstract ? "urlsession-\(UUID().uuidString)" : folder.file("socket").path
        let listener = try LocalListener(name, isAbstract: isAbstract)
        async let request = listener.answerOne("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nlocal")
        let outcome = try RunningCommand.run(["-s", option, name, "http://any.invalid/path"])
        #expect(outcome.output == "local", "\(outcome.errors)")
        #expect(try await request.hasPrefix("GET /path HTTP/1.1\r\nHost: any.invalid\r\n"))
        let absent = isAbstract ? name + "-" : folder.file("missing").path
        let missing = try RunningCommand.run(["-sS", option, absent, "http://a/"])
        #expect(missing.exit == .code(7))
        let reason = isAbstract ? "connection refused" : "no such file or directory"
        let shown = isAbstract ? "@" + absent : absent
        #expect(
            missing.errors
                == "urlsession: could not connect to the socket '\(shown)' (\(reason)): is its server running?\n")
    }
}

/// A local socket that answers one request.
private final class LocalListener: Sendable {
    private let descriptor: Int32

    init(_ name: String, isAbstract: Bool) throws {
        descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else { throw POSIXFailure("socket") }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = (isAbstract ? [0] : []) + Array(name.utf8)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let length = socklen_t(2 + bytes.count)
        let result = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, length) }
        }
        guard result == 0, listen(descriptor, 1) == 0 else { throw POSIXFailure("bind") }
    }

    deinit { close(descriptor) }

    func answerOne(_ response: String) async throws -> String {
        let connection = accept(descriptor, nil, nil)
        guard connection >= 0 else { throw POSIXFailure("accept") }
        defer { close(connection) }
        var request = ""
        var buffer = [UInt8](repeating: 0, count: 4096)
        while !request.contains("\r\n\r\n") {
            let count = read(connection, &buffer, buffer.count)
            guard count > 0 else { throw POSIXFailure("read") }
            request += String(decoding: buffer[..<count], as: UTF8.self)
        }
        let bytes = Array(response.utf8)
        guard write(connection, bytes, bytes.count) == bytes.count else { throw POSIXFailure("write") }
        return request
    }
}
