import Foundation
import TestSupport
import Testing

/// A machine without the SQLite library.
@Suite(.leavesNothing) struct MissingSQLiteTests {
    // S-17, C-36: sessions work without what lasts, which is said once
    @Test("sessions work, cookies and responses are in memory") func withoutSQLite() throws {
        let user = try SessionUser()
        let server = try ScriptedServer.answering { request in
            switch request.path {
            case "/login": .text("hello").with(field: "Set-Cookie", "persistent=yes; Max-Age=3600")
            case "/fresh": .text("fresh").with(field: "Cache-Control", "max-age=3600")
            default: .text(request["Cookie"] ?? "none").with(field: "Cache-Control", "no-store")
            }
        }
        defer { server.stop() }
        // Found before the system's own, and no library.
        let libraries = try TemporaryDirectory()
        for name in ["libsqlite3.so.0", "libsqlite3.so"] { try libraries.write("no library", to: name) }
        let urls = ["/login", "/fresh", "/fresh", "/cookie"].map { server.url($0).absoluteString }
        let lines = try user.run(
            ["default", "keep", "me", "secret", "r"] + urls, environment: ["LD_LIBRARY_PATH": libraries.path])
        let said = lines.filter { $0.hasPrefix("URLLoading: ") }
        #expect(said.count == 1)
        #expect(
            said.first?.hasSuffix(": libsqlite3.so.0 is missing. What is stored is kept in memory.") == true)
        #expect(lines.filter { !said.contains($0) } == ["200 hello", "200 fresh", "200 fresh", "200 persistent=yes"])
        #expect(server.requests.map(\.path) == ["/login", "/fresh", "/cookie"])
        #expect(user.places.keys.filter { $0.hasSuffix(".sqlite") } == [])
    }
}
