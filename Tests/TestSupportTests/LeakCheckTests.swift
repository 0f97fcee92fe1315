import Foundation
import Glibc
import TestSupport
import Testing

@Suite(.serialized) struct LeakCheckTests {
    @Test("an open descriptor is named with what it is") func anOpenDescriptorIsNamedWithWhatItIs() async throws {
        var ends: [Int32] = [-1, -1]
        let leaks = await LeakCheck.leaks(within: .milliseconds(100)) { _ = pipe(&ends) }
        let found = try #require(leaks.first)
        #expect(found.contains("descriptor \(ends[0]) pipe:["))
        #expect(found.contains("descriptor \(ends[1]) pipe:["))
        for end in ends { close(end) }
    }

    @Test("the counts must be as before, and late ends are awaited") func aCountMustBeBackAndWhatGoesLateIsWaitedFor()
        async throws
    {
        let live = EventRecorder<Int>()
        LeakCheck.register(name: "live things") { live.count }
        defer { LeakCheck.unregister(name: "live things") }
        #expect(await LeakCheck.leaks(within: .milliseconds(50)) { live.record(1) }.last == "1 live things")
        #expect(await LeakCheck.leaks {} == [])
    }

    @Test("a released server leaves no threads behind")
    func aReleasedServerLeavesNoThreads() async throws {
        let leaks = try await LeakCheck.leaks {
            let server = try ScriptedServer.answering(.text("x"), options: .dualStack)
            let clients = try (0..<3).map { _ in try RawClient(port: server.port) }
            for client in clients { try client.send("GET / HTTP/1.1\r\n\r\n") }
            for client in clients { _ = try client.receive() }
        }
        #expect(leaks == [])
    }

    @Test("a server that stays is named with its threads") func aServerThatStaysIsNamedWithItsThreads() async throws {
        var server: ScriptedServer?
        let leaks = try await LeakCheck.leaks(within: .milliseconds(50)) {
            let stays = try ScriptedServer.answering(.text("x"))
            // A connection that was accepted proves that the thread has got its name.
            _ = try RawClient(port: stays.port)
            _ = try await stays.connection(0)
            server = stays
        }
        #expect(leaks.first?.contains("test-acceptor") == true)
        #expect(leaks.first?.contains("socket:[") == true)
        server?.stop()
    }

    @Test("the trait lets a clean test pass", .leakChecked) func theTraitLetsACleanTestPass() async throws {
        let authority = try TestCertificateAuthority()
        let server = try ScriptedServer.answering(.text("x"), tls: TLSServerOptions(authority: authority))
        #expect(try Curl.run("--insecure", server.url().absoluteString).output == "x")
    }

    @Test("a check records an issue for what is left") func aCheckRecordsAnIssueForWhatIsLeft() async throws {
        var ends: [Int32] = [-1, -1]
        await withKnownIssue {
            await LeakCheck.check(within: .milliseconds(50)) { _ = pipe(&ends) }
        } matching: { issue in
            issue.comments.contains { $0.rawValue.hasPrefix("left behind: descriptor") }
        }
        for end in ends { close(end) }
    }
}
