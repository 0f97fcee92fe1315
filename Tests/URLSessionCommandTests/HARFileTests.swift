import Foundation
import TestSupport
import Testing
import URLSessionCommandCore

/// Complete archives of the program.
@Suite struct HARFileTests {
    private func archive(_ harness: CommandHarness, _ arguments: String...) throws -> (data: Data, exit: ExitCode) {
        try archive(harness, arguments)
    }

    private func archive(_ harness: CommandHarness, _ arguments: [String]) throws -> (data: Data, exit: ExitCode) {
        let path = harness.folder.file("har").path
        let exit = Command.run(
            arguments: arguments + ["-s", "--har", path, "-o", harness.target.path], terminal: Terminal())
        return (try Data(contentsOf: URL(fileURLWithPath: path)), exit)
    }

    /// Redirects, cookies, a challenge, a body in chunks, one that is not there, and a server that is not there.
    // MET-1, MET-16, MET-17
    @Test("by the specification") func specification() throws {
        let harness = try CommandHarness(
            .answering { request in
                switch request.path {
                case "/redirect": .redirect(to: "/chunks?a=b&c").with(field: "Set-Cookie", "a=b; Path=/")
                case "/chunks": CannedResponse(200, body: .chunks([[1], [2], [3, 0xFF]], trailers: []))
                case "/private" where request["Authorization"] == nil:
                    .text("who?", status: 401).with(field: "WWW-Authenticate", "Basic realm=\"r\"")
                case "/nothing": .status(204)
                default: try .echo(request)
                }
            })
        defer { harness.server.stop() }
        let urls = ["/redirect", "/chunks", "/private", "/nothing"].map { harness.server.url($0).absoluteString }
        for url in urls {
            let (data, exit) = try archive(harness, url, "-u", "ann:pw", "-H", "Cookie: c=d")
            #expect(exit == .success)
            #expect(HARSchema.faults(in: data) == [], "\(url)")
        }
        let posted = try archive(harness, harness.server.url("/echo").absoluteString, "-d", "a=1")
        #expect(HARSchema.faults(in: posted.data) == [])
        let failed = try archive(harness, "http://ann:pw@127.0.0.1:\(try DemoServer.unusedPort())/")
        #expect(failed.exit == .cannotConnect)
        #expect(HARSchema.faults(in: failed.data) == [])
    }

    @Test("the check finds faults") func check() throws {
        let harness = try CommandHarness(.answering(.text("x")))
        defer { harness.server.stop() }
        let text = String(decoding: try archive(harness, harness.server.url("/").absoluteString).data, as: UTF8.self)
        for (right, wrong, place) in [
            ("\"HTTP/1.1\"", "\"H2\"", "/log/entries/0/request/httpVersion: not a version of HTTP"),
            ("\"bodySize\" : 0", "\"bodySize\" : -2", "/log/entries/0/request/bodySize: not a size, or -1"),
            ("\"redirectURL\"", "\"_redirectURL\"", "/log/entries/0/response/redirectURL: missing"),
        ] {
            #expect(HARSchema.faults(in: Data(text.replacing(right, with: wrong).utf8)).contains(place))
        }
    }

    // MET-1: what went out, and not what was asked for
    @Test("every request with all its fields") func fields() throws {
        let harness = try CommandHarness(
            .answering { request in
                request["Authorization"] == nil
                    ? .text("who?", status: 401).with(field: "WWW-Authenticate", "Basic realm=\"r\"") : .text("in")
            })
        defer { harness.server.stop() }
        let (data, _) = try archive(harness, harness.server.url("/").absoluteString, "-u", "ann:pw")
        let entries = try JSONDecoder().decode(HARDocument.self, from: data).log.entries
        #expect(entries.map(\.response.status) == [401, 200])
        #expect(entries.map(\.response.content.size) == [4, 2])
        let sent = harness.server.requests.map { $0.fields.map { "\($0.name): \($0.value)" } }
        let recorded = entries.map { $0.request.headers.map { "\($0.name): \($0.value)" } }
        #expect(recorded.first == sent.first)
        let shown = sent.last?.map { $0.hasPrefix("Authorization: ") ? "Authorization: Basic [redacted]" : $0 }
        #expect(recorded.last == shown)
        #expect(entries.first?.response.headers.contains(.init("WWW-Authenticate", "Basic realm=\"r\"")) == true)
    }

    // MET-1
    @Test("the reason phrase of the wire", arguments: ["All Fine", ""]) func reasons(reason: String)
        throws
    {
        let harness = try CommandHarness(.answering { _ in CannedResponse(200, reason: reason, body: .bytes([])) })
        defer { harness.server.stop() }
        let (data, _) = try archive(harness, harness.server.url("/").absoluteString)
        let entries = try JSONDecoder().decode(HARDocument.self, from: data).log.entries
        #expect(entries.map(\.response.statusText) == [reason])
    }

    private static let secrets = (1...24).map { "s3cr3t\($0)x" }

    @Test("no secret, and for this user alone", arguments: [false, true]) func secrets(areWanted: Bool) throws {
        let s = Self.secrets
        let form = "user=me&password=\(s[0])&client_secret=\(s[1])&otp=\(s[2])"
        let harness = try CommandHarness(
            .answering { request in
                if request.path == "/a" {
                    return .redirect(
                        to: "http://me:\(s[3])@\(request["Host"] ?? "")/b?access_token=\(s[4])", status: 307
                    )
                    .with(field: "Set-Cookie", "sid=\(s[5])")
                    .with(field: "Link", "<https://me:\(s[6])@h/>; rel=next")
                    .with(field: "Refresh", "5; url=https://me:\(s[7])@h/?token=\(s[8])")
                }
                return try .json(["access_token": s[9], "session_id": s[10], "link": "https://h/?sig=\(s[11])"])
                    .with(field: "X-Csrf-Token", s[12]).with(field: "X-Amz-Security-Token", s[13])
                    .with(field: "Authentication-Info", "rspauth=\"\(s[14])\"")
            })
        defer { harness.server.stop() }
        let path = harness.folder.file("har").path
        try "older".write(toFile: path, atomically: false, encoding: .utf8)
        #expect(chmod(path, 0o644) == 0)
        let url = harness.server.url("/a?api_key=\(s[15])&code=\(s[16])").absoluteString
        let fields = [
            "Authorization: Bearer \(s[17])", "Cookie: sid=\(s[18])", "Private-Token: \(s[19])",
            "X-Vault-Token: \(s[20])", "X-Api-Key: \(s[21])", "Proxy-Authorization: Basic \(s[22])",
            "Referer: https://me:\(s[23])@h/",
        ]
        let (data, exit) = try archive(
            harness, [url, "-d", form] + (areWanted ? ["--har-with-secrets"] : []) + fields.flatMap { ["-H", $0] })
        #expect(exit == .success)
        let text = String(decoding: data, as: UTF8.self)
        // The session does not send that field to a server.
        let wanted = areWanted ? s.filter { $0 != s[22] } : []
        #expect(s.filter { text.contains($0) && $0 != s[22] } == wanted)
        #expect(areWanted || !text.contains(s[22]))
        #expect(HARSchema.faults(in: data) == [])
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
    }

    @Test("to standard output") func standardOutput() throws {
        let harness = try CommandHarness(.answering(.text("hello")))
        defer { harness.server.stop() }
        let (exit, output) = try harness.run(harness.server.url("/").absoluteString, "-i", "--har", "-")
        #expect(exit == .code(0))
        let log = try JSONDecoder().decode(HARDocument.self, from: Data(output.utf8)).log
        #expect(log.entries.map(\.response.content.text) == ["hello"])
    }
}
