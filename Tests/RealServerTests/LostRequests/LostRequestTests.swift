import Foundation
import TestSupport
import Testing

/// Servers that accept few requests per connection, close idle connections soon, or replace their workers: no
/// repeatable request may be lost.
@Suite struct LostRequestTests {
    // CONN-4, CONN-10: where the server says which requests it has not processed none is lost, whatever its method
    @Test(
        "a server that takes few requests on a connection", .timeLimit(.minutes(2)),
        arguments: LimitedServer.sharpest, LostRequests.Kind.allCases)
    func few(server: LimitedServer, kind: LostRequests.Kind) async throws {
        if let missing = server.make.missing { return try missing.allowSkipping() }
        // Past the first time that it is reloaded.
        let duration = max(.milliseconds(1500), .seconds(1) + (server.reloads ?? .zero))
        let result = try await LostRequests.count(kind, from: server, for: duration)
        #expect(result.losses(of: kind, to: server) == [:])
        #expect(result.answered > server.concurrency)
    }

    // CONN-4, CONN-10: briefly, so that each is counted with every change
    @Test(
        "a server at its defaults", .timeLimit(.minutes(2)), arguments: LimitedServer.ordinary,
        LostRequests.Kind.allCases)
    func ordinary(server: LimitedServer, kind: LostRequests.Kind) async throws {
        if let missing = server.make.missing { return try missing.allowSkipping() }
        let result = try await LostRequests.count(kind, from: server, for: .milliseconds(500))
        #expect(result.lost == [:])
        #expect(result.answered > server.concurrency)
    }

    private static let environment = ProcessInfo.processInfo.environment
    /// For how many seconds each row of the table is counted, if it is.
    private static let seconds = environment["LOST_REQUESTS"].flatMap { Int($0) }
    /// What stands in the names of the servers that are counted; nil for all.
    private static let servers = environment["LOST_REQUESTS_SERVERS"].flatMap { $0.isEmpty ? nil : $0 }
    /// The file to which rows are appended, if set.
    private static let rows = environment["LOST_REQUESTS_ROWS"]

    // CONN-4, CONN-10: `scripts/lost-requests` prints the rows
    @Test(
        "the table", .enabled("scripts/lost-requests") { LostRequestTests.seconds != nil },
        arguments: LimitedServer.all.filter { server in
            LostRequestTests.servers.map { server.testDescription.contains($0) } ?? true
        },
        LostRequests.Kind.allCases)
    func table(server: LimitedServer, kind: LostRequests.Kind) async throws {
        let name = "\(server.testDescription) | \(kind.rawValue)"
        if let missing = server.make.missing {
            try Self.add("| \(name) | \(missing) | |")
            return try missing.allowSkipping()
        }
        let result = try await LostRequests.count(kind, from: server, for: .seconds(Self.seconds ?? 1))
        try Self.add(result.row(name))
        #expect(result.losses(of: kind, to: server) == [:])
    }

    private static func add(_ row: String) throws {
        guard let rows else { return }
        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: rows))
        defer { try? file.close() }
        // A pipe has no end to go to.
        _ = try? file.seekToEnd()
        try file.write(contentsOf: Data((row + "\n").utf8))
    }

    @Test("which losses are failures") func failures() {
        let result = LostRequests(answered: 5, lost: [-1005: 2, -1001: 1])
        #expect(result.row("s | POST") == "| s | POST | 5 | 2 of -1005, 1 of -1001 |")
        #expect(LostRequests(answered: 5).row("s | GET") == "| s | GET | 5 | 0 |")
        for kind in LostRequests.Kind.allCases {
            let first = LimitedServer(make: .caddy, offersHTTP2: false)
            #expect(result.losses(of: kind, to: first) == (kind == .get ? result.lost : [:]))
            #expect(result.losses(of: kind, to: LimitedServer(make: .caddy)) == result.lost)
        }
        var cut = result
        cut.cut = [-1005: 2]
        #expect(cut.losses(of: .get, to: LimitedServer(make: .caddy)) == result.lost)
        let resetting = LimitedServer(make: .nginx(requests: 5, more: LimitedServer.withoutLingering))
        #expect(cut.losses(of: .get, to: resetting) == [-1001: 1])
    }
}
