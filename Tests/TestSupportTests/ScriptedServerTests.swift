import Foundation
import Glibc
import TestSupport
import Testing

@Suite(.needs(.curl)) struct ScriptedServerTests {
    @Test("a script reads a request and answers it") func aScriptReadsARequestAndAnswersIt() throws {
        let server = try ScriptedServer { connection in
            _ = try connection.readRequest()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
            try connection.waitForClose()
        }
        defer { server.stop() }
        let client = try RawClient(port: server.port)
        try client.send("POST /a?b=c HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc")
        #expect(try client.receive(exactly: 43) == "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
        client.close()
        try server.finish()

        let request = try #require(server.requests.first)
        #expect(request.method == "POST")
        #expect(request.path == "/a")
        #expect(request.query == "b=c")
        #expect(request.fields == [.init("Host", "x"), .init("Content-Length", "3")])
        #expect(request.bodyText == "abc")
        #expect(server.connectionCount == 1)
        #expect(server.connections[0].end == .finished)
        #expect(server.connections[0].bytesAccepted == 43)
    }

    @Test("chunks and trailers are joined, and kept as they came") func chunksAndTrailersAreJoinedAndKeptAsTheyCame()
        throws
    {
        let server = try ScriptedServer { _ = try $0.readRequest() }
        defer { server.stop() }
        let client = try RawClient(port: server.port)
        let body = "3;x=y\r\nabc\r\nA\r\n0123456789\r\n0\r\nA: b\r\n\r\n"
        let head = "PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
        try client.send(head + body)
        #expect(try client.receiveToEnd() == "")
        try server.finish()
        let request = try #require(server.requests.first)
        #expect(request.bodyText == "abc0123456789")
        #expect(request.trailers == [.init("A", "b")])
        #expect(request.raw == Array((head + body).utf8))
    }

    @Test("a reset, a close and the client's own ways to end are distinguished")
    func aResetACloseAndTheClientsOwnWaysToEndAreDistinguished() throws {
        let ready = Signal("the client's connect")
        let server = try ScriptedServer(connections: [
            [.wait(ready), .reset], [.send("x"), .close], [.send("x"), .waitForClose], [.send("x"), .waitForClose],
        ])
        defer { server.stop() }
        let first = try RawClient(port: server.port)
        ready.fire()
        #expect(throws: POSIXFailure("recv", code: ECONNRESET)) { try first.receive() }
        #expect(try RawClient(port: server.port).receiveToEnd() == "x")
        let third = try RawClient(port: server.port)
        #expect(try third.receive(exactly: 1) == "x")
        third.close()
        #expect(try server.connection(2).waitForEnd() == .finished)
        let fourth = try RawClient(port: server.port)
        #expect(try fourth.receive(exactly: 1) == "x")
        fourth.reset()
        #expect(try server.connection(3).waitForEnd() == .reset)
        try server.finish()
    }

    @Test("steps hold back until the test's signal") func stepsHoldBackUntilTheTestsSignal() async throws {
        let released = Signal("the release")
        let begun = Signal("the first half")
        let server = try ScriptedServer(steps: [
            .expect(method: "GET", target: "/x"), .sendByteByByte("HTTP/1.1 200 OK\r\n"), .fire(begun),
            .wait(released), .send("\r\n"), .close,
        ])
        defer { server.stop() }
        let client = try RawClient(port: server.port)
        try client.send("GET /x HTTP/1.1\r\n\r\n")
        try await begun.wait()
        #expect(try client.receive(exactly: 17) == "HTTP/1.1 200 OK\r\n")
        released.fire()
        #expect(try client.receiveToEnd() == "\r\n")
        try await server.finish()
    }

    @Test("what a script throws is thrown by finish") func whatAScriptThrowsIsThrownByFinish() throws {
        let server = try ScriptedServer(steps: [.expect(method: "GET", target: "/right")])
        defer { server.stop() }
        let client = try RawClient(port: server.port)
        try client.send("GET /wrong HTTP/1.1\r\n\r\n")
        #expect(try client.receiveToEnd() == "")
        let failure = #expect(throws: UnexpectedRequest.self) { try server.finish() }
        #expect(failure?.description == "expected GET /right, got GET /wrong")
    }

    @Test("a wait that times out names what was awaited") func aWaitThatTimesOutNamesWhatWasAwaited()
        throws
    {
        var options = ScriptedServer.Options()
        options.deadline = .milliseconds(20)
        let server = try ScriptedServer(options) { _ = try $0.readRequest() }
        defer { server.stop() }
        let client = try RawClient(port: server.port)
        #expect(try client.receiveToEnd() == "")
        let failure = #expect(throws: DeadlineExceeded.self) { try server.finish() }
        #expect(failure?.description == "waited 0.02 seconds in vain for bytes on connection 0")
    }

    @Test("a client that does not read blocks the server, and lets it go on")
    func aClientThatDoesNotReadBlocksTheServerAndLetsItGoOn() async throws {
        var options = ScriptedServer.Options()
        options.sendBufferSize = 65_536
        let server = try ScriptedServer(options) { connection in
            try connection.send([UInt8](repeating: 1, count: 4_000_000))
        }
        defer { server.stop() }
        let client = try RawClient(port: server.port, receiveBufferSize: 65_536)
        let connection = try await server.connection(0)
        let accepted = try await connection.waitUntilBlocked()
        #expect(accepted > 0 && accepted < 1_000_000)
        #expect(try client.receive(exactly: 4_000_000).utf8.count == 4_000_000)
        try await server.finish()
        #expect(connection.bytesAccepted == 4_000_000)
        #expect(server.bytesAccepted == 4_000_000)
    }

    @Test("stop ends scripts wherever they wait, threads and descriptors included")
    func stopEndsScriptsWhereverTheyWaitThreadsAndDescriptorsIncluded() async throws {
        let never = Signal("what never comes")
        let leaks = try await LeakCheck.leaks {
            let server = try ScriptedServer { connection in
                switch connection.index {
                case 0: _ = try connection.readRequest()
                case 1: try connection.wait(for: never)
                case 2: try connection.stopReading()
                case 3: try connection.wait(for: Permits())
                default: while true { try connection.send([UInt8](repeating: 0, count: 65_536)) }
                }
            }
            let clients = try (0..<5).map { _ in try RawClient(port: server.port) }
            _ = try await server.connection(4)
            server.stop()
            server.stop()
            #expect(server.connections.map(\.isClosed) == [true, true, true, true, true])
            #expect(server.failures.isEmpty)
            withExtendedLifetime(clients) {}
        }
        #expect(leaks == [])
    }

    @Test("both loopback addresses are served on one port") func bothLoopbackAddressesAreServedOnOnePort() throws {
        let server = try ScriptedServer.answering(.dualStack) { .text($0["Host"] ?? "") }
        defer { server.stop() }
        #expect(try Curl.run(server.url().absoluteString).output == "127.0.0.1:\(server.port)")
        #expect(try Curl.run(server.url(host: "[::1]").absoluteString).output == "[::1]:\(server.port)")
    }

    @Test("a refusing port refuses and a saturated one keeps silent")
    func aRefusingPortRefusesAndASaturatedOneKeepsSilent() throws {
        let refusing = try RefusingPort()
        #expect(throws: POSIXFailure("connect", code: ECONNREFUSED)) { try RawClient(port: refusing.port) }
        let saturated = try SaturatedPort()
        let result = try Curl.run("--connect-timeout", "0.3", "http://127.0.0.1:\(saturated.port)/")
        #expect(result.exit == .code(28))
    }
}
