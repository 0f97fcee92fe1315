import Foundation
import LoadingSemantics
import LoadingTestSupport
import TestSupport
import Testing
import URLLoading

/// Servers that stop sending: the idle timeout and the resource timeout.
@Suite(.leavesNothing) struct SilentServerTests {
    // CONN-15, ERR-5, T-38
    @Test(
        "a server that says no more",
        arguments: [
            ([Step](), [RecordedEvent.failed(.timedOut)]),
            ([.expectRequest], [.failed(.timedOut)]),
            ([.expectRequest, .send("HTTP/1.1 200 OK\r\nContent-Le")], [.failed(.timedOut)]),
            (
                [.expectRequest, .send("HTTP/1.1 103 Early Hints\r\n\r\n")],
                [.informational(103), .failed(.timedOut)]
            ),
            (
                [.expectRequest, .send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n")],
                [.response(200), .failed(.timedOut)]
            ),
            (
                [.expectRequest, .send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel")],
                [.response(200), .data("hel"), .failed(.timedOut)]
            ),
            (
                [.expectRequest, .send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n0\r\n")],
                [.response(200), .data("hel"), .failed(.timedOut)]
            ),
        ])
    func aServerThatStopsSending(steps: [Step], recorded: [RecordedEvent]) async throws {
        let sent = Signal("all that the server sends")
        let server = try ScriptedServer(steps: steps + [.fire(sent), .stopReading])
        defer { server.stop() }
        let stepped = try SteppedLoop()
        let recorder = LoadRecorder()
        recorder.start(URLRequest(url: server.url())) { $0.loop = stepped.loop }
        try await sent.wait()
        for call in recorded.dropLast() { try await recorder.recorded.wait(for: call) }
        // What has arrived and is not read yet starts the idle timeout again.
        let all = try await stepped.skippingPauses(within: TimeLimits.seconds(60)) {
            try await recorder.finish(within: .testDeadline)
        }
        #expect(all == recorded + [.invalid])
        #expect(server.connectionCount == 1)
    }

    // CONN-15: the configuration's timer, where the request has none
    @Test("the session's timer holds for requests without one") func theSessionsTimerHoldsForRequestsWithoutOne()
        async throws
    {
        let server = try ScriptedServer(steps: [.stopReading])
        defer { server.stop() }
        let recorded = try await LoadRecorder.load(URLRequest(url: server.url())) { $0.timeoutIntervalForRequest = 0.3 }
        #expect(recorded == [.failed(.timedOut), .invalid])
    }

    // CONN-15: a connect that gets no answer
    @Test("a port whose queue is full") func aPortWhoseQueueIsFull() async throws {
        let port = try SaturatedPort()
        let url = try #require(URL(string: "http://127.0.0.1:\(port.port)/"))
        #expect(
            try await LoadRecorder.load(URLRequest(url: url, timeoutInterval: 0.3)) == [.failed(.timedOut), .invalid])
    }

    // CONN-15, CONN-24: the resource timer runs whatever comes
    @Test("a server that drips for ever runs into the resource timer")
    func aServerThatDripsForEverRunsIntoTheResourceTimer() async throws {
        let server = try ScriptedServer { connection in
            _ = try connection.readRequest()
            try connection.send("HTTP/1.1 200 OK\r\n\r\n")
            while true {
                // Never as long as the request may be idle.
                Thread.sleep(forTimeInterval: 0.01)
                try connection.send("x")
            }
        }
        defer { server.stop() }
        let recorded = try await LoadRecorder.load(URLRequest(url: server.url())) {
            $0.timeoutIntervalForResource = 0.5
        }
        #expect(recorded.suffix(2) == [.failed(.timedOut), .invalid])
        #expect(recorded.first == .response(200))
    }

    // CONN-17: a server that takes the body slowly is not silent, one that takes nothing is
    @Test("an upload that makes no progress times out") func anUploadWithoutProgressTimesOut() async throws {
        var options = ScriptedServer.Options()
        options.receiveBufferSize = 4096
        let server = try ScriptedServer(options, steps: [.stopReading])
        defer { server.stop() }
        let request = URLRequest(url: server.url(), timeoutInterval: 0.5).with {
            $0.httpMethod = "POST"
            $0.httpBody = Data(count: 32 << 20)
        }
        #expect(try await LoadRecorder.load(request) == [.failed(.timedOut), .invalid])
    }
}
