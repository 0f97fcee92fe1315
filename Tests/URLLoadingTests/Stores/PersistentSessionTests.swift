import Foundation
import TestSupport
import Testing

/// Persistent data between runs of a program, and its files. Each run is a process.
@Suite(.leavesNothing) struct PersistentSessionTests {
    private let user: SessionUser
    private let server: ScriptedServer

    init() throws {
        user = try SessionUser()
        let count = Watched(0)
        server = try ScriptedServer.answering { request in
            let number = count.withValue {
                $0 += 1
                return $0
            }
            switch request.path {
            case "/login":
                return CannedResponse.text("hello").with(field: "Cache-Control", "no-store")
                    .with(field: "Set-Cookie", "persistent=yes; Max-Age=3600").with(field: "Set-Cookie", "passing=yes")
            case "/cookie":
                return CannedResponse.text(request["Cookie"] ?? "none").with(field: "Cache-Control", "no-store")
            case "/fresh": return .text("body \(number)").with(field: "Cache-Control", "max-age=3600")
            case "/large":
                return CannedResponse.bytes([UInt8](repeating: 0x78, count: 100_000))
                    .with(field: "Cache-Control", "max-age=3600")
            case "/private" where request["Authorization"] == nil:
                return CannedResponse.text("who?", status: 401).with(field: "WWW-Authenticate", "Basic realm=\"r\"")
            case "/private": return .text(request["Authorization"] ?? "")
            case "/varied":
                return CannedResponse.text("body \(number)")
                    .with(field: "Cache-Control", "max-age=3600").with(field: "Vary", "Cookie")
            default: return .text("", status: 404)
            }
        }
    }

    private func url(_ path: String) -> String { server.url(path).absoluteString }

    // S-17, COOK-19, C-36: the program ends at once, and cookies that end with the process are gone
    @Test("cookies are there in the next run, unless they end with the first")
    func cookies() throws {
        defer { server.stop() }
        #expect(
            try user.run("default", url("/login"), url("/cookie")) == ["200 hello", "200 persistent=yes; passing=yes"])
        #expect(try user.run("default", url("/cookie")) == ["200 persistent=yes"])
        #expect(try !user.holds("passing"))
    }

    // S-17, C-27
    @Test("the cache is there in the next run, with small and large bodies")
    func cache() throws {
        defer { server.stop() }
        #expect(try user.run("default", url("/fresh")) == ["200 body 1"])
        #expect(try user.run("default", url("/fresh")) == ["200 body 1"])
        let large = try user.run("default", url("/large"))
        #expect(try user.run("default", url("/large")) == large)
        #expect(server.requests.map(\.path) == ["/fresh", "/large"])
    }

    // AUTH-22, S-17
    @Test("a permanent password is there in the next run")
    func passwords() throws {
        defer { server.stop() }
        let proof = "200 Basic " + Data("me:secret".utf8).base64EncodedString()
        #expect(try user.run("default", "keep", "me", "secret", "r", url("/private")) == [proof])
        #expect(try user.run("default", url("/private")) == [proof])
    }

    // C-36: four stores, and one reason
    @Test("without a writable home directory one line is logged")
    func noHome() throws {
        defer { server.stop() }
        let nowhere = ["XDG_CACHE_HOME": "/proc/nowhere/cache", "XDG_DATA_HOME": "/proc/nowhere/data"]
        let lines = try user.run(
            ["default", "keep", "me", "secret", "r", url("/login"), url("/fresh"), url("/large"), url("/private")],
            environment: nowhere)
        let said = lines.filter { $0.hasPrefix("URLLoading: ") }
        #expect(said.count == 1)
        #expect(said.first?.hasPrefix("URLLoading: cannot ") == true)
        #expect(said.first?.hasSuffix("What is stored is kept in memory.") == true)
    }

    // C-36
    @Test("files are readable by the current user only")
    func modes() throws {
        defer { server.stop() }
        _ = try user.run("default", "keep", "me", "secret", "r", url("/login"), url("/fresh"), url("/large"))
        let places = user.places.filter { $0.key.contains("/") }
        #expect(
            Set(places.keys.filter { $0.hasSuffix(".sqlite") }) == [
                "data/session-user/url-loading-cookies.sqlite", "data/session-user/url-loading-credentials.sqlite",
                "cache/session-user/url-loading-responses.sqlite",
            ])
        for (name, mode) in user.places {
            var isFolder: ObjCBool = false
            _ = FileManager.default.fileExists(atPath: user.home.path + "/" + name, isDirectory: &isFolder)
            #expect(mode == (isFolder.boolValue ? 0o700 : 0o600), "\(name)")
        }
    }

    // CACHE-18: the values of the fields that `Vary` names may be secrets
    @Test("the values of Vary fields are not written as plain text")
    func variants() throws {
        defer { server.stop() }
        _ = try user.run("default", url("/login"))
        #expect(try user.run("default", url("/varied")) == ["200 body 2"])
        #expect(try user.run("default", url("/varied")) == ["200 body 2"])
        try FileManager.default.removeItem(at: user.home.file("data"))
        #expect(try !user.holds("persistent=yes"))
        // Without the cookie it is another variant.
        #expect(try user.run("default", url("/varied")) == ["200 body 3"])
    }

    // CACHE-30, AUTH-11: nor is a password that stands in an address
    @Test("a password in an address is not written with the response")
    func passwordsInAddresses() throws {
        defer { server.stop() }
        var address = try #require(URLComponents(url: server.url("/fresh"), resolvingAgainstBaseURL: false))
        address.user = "me"
        address.password = "treasure"
        let target = try #require(address.string)
        #expect(try user.run("default", target) == ["200 body 1"])
        #expect(try user.run("default", target) == ["200 body 1"])
        #expect(server.requests.count == 1)
        #expect(try !user.holds("treasure"))
    }

    // CACHE-24: a disk may take its time, and a loop has none
    @Test("no loop looks whether there is a cache on disk")
    func looks() throws {
        defer { server.stop() }
        let directory = try TemporaryDirectory()
        let log = directory.file("calls")
        _ = try user.run(
            "default", url("/cookie"), url("/cookie"), url("/cookie"),
            under: [
                "strace", "-f", "-qq", "-s", "0", "-o", log.path, "-e",
                "trace=%file,epoll_wait,epoll_pwait,epoll_pwait2",
            ])
        let calls = try String(contentsOf: log, encoding: .utf8).split(separator: "\n")
        /// The threads that made a matching system call.
        func threads(_ call: String) -> Set<Substring> {
            Set(calls.filter { $0.contains(call) }.compactMap { $0.split(separator: " ").first })
        }
        let lookers = threads("url-loading-responses.sqlite")
        #expect(!lookers.isEmpty && !threads("epoll_").isEmpty)
        #expect(lookers.isDisjoint(with: threads("epoll_")))
    }

    // CONN-8: alternatives persist between runs, except for ephemeral sessions
    @Test("HTTP/3 alternatives are known in the next run", .needsHTTP3, .needs(.gtlsserver))
    func alternatives() throws {
        server.stop()
        let quic = try GtlsServer(
            files: ["way": Array("over QUIC".utf8)], authority: TrustedAuthority.authority)
        defer { quic.stop() }
        let tcp = try ScriptedServer.answering(tls: TrustedAuthority.server()) { _ in
            CannedResponse.text("over TCP").with(field: "Alt-Svc", "h3=\":\(quic.port)\"; ma=3600").closing()
        }
        defer { tcp.stop() }
        let url = tcp.url("/way").absoluteString
        #expect(try user.run("ephemeral", url, url) == ["200 over TCP", "200 over QUIC"])
        #expect(user.places == [:])
        #expect(try user.run("default", url) == ["200 over TCP"])
        #expect(user.places["data/session-user/url-loading-alternative-services.sqlite"] == 0o600)
        #expect(try user.run("ephemeral", url) == ["200 over TCP"])
        #expect(try user.run("default", url) == ["200 over QUIC"])
    }

    // S-18, CACHE-29: every call that could change a disk is looked at
    @Test("an ephemeral session touches no disk")
    func ephemeral() throws {
        defer { server.stop() }
        let secure = try ScriptedServer.answering(tls: TrustedAuthority.server()) { _ in
            CannedResponse.text("secure").with(field: "Strict-Transport-Security", "max-age=1000")
                .with(field: "Set-Cookie", "a=b; Max-Age=1000; Secure").with(field: "Cache-Control", "max-age=1000")
        }
        defer { secure.stop() }
        let directory = try TemporaryDirectory()
        let log = directory.file("calls")
        /// System calls that write to disk or access persistent data.
        func touches(_ kind: String) throws -> [Substring] {
            try? FileManager.default.removeItem(at: log)
            let lines = try user.run(
                kind, "keep", "me", "secret", "r", url("/login"), url("/cookie"), url("/fresh"), url("/fresh"),
                url("/large"), url("/private"), secure.url("/", host: "localhost").absoluteString,
                under: [
                    "strace", "-f", "-qq", "-s", "0", "-o", log.path, "-e", "trace=%file,ftruncate,fallocate,fchmod",
                ])
            #expect(lines.first == "200 hello" && lines.last == "200 secure" && lines.count == 7, "\(lines)")
            return try String(contentsOf: log, encoding: .utf8).split(separator: "\n").filter { call in
                if call.contains("\"\(user.home.path)") { return true }
                // The thread sanitizer's own.
                if call.contains("/tsan.rodata.") { return false }
                if call.contains("\"/dev/") || call.contains("\"/proc/") || call.contains("= -1 ") { return false }
                if call.contains("open") {
                    return call.contains("O_CREAT") || call.contains("O_WRONLY") || call.contains("O_RDWR")
                }
                let changing = [
                    "mkdir", "mknod", "rename", "link", "truncate", "fallocate", "chmod", "chown", "creat(",
                ]
                return changing.contains { call.contains($0) } && !call.contains("readlink")
            }
        }
        let first = try touches("ephemeral")
        #expect(first == [])
        #expect(user.places == [:])
        // So would have been found what there is to find.
        let persistent = try touches("default")
        for store in ["cookies", "transport-security"] {
            #expect(persistent.contains { $0.contains("url-loading-\(store).sqlite") })
        }
        // Nor is it read once it is there.
        let second = try touches("ephemeral")
        #expect(second == [])
    }
}
