import Foundation
import TestSupport
import Testing
import URLLoading

/// Streams when a better route to their peer appears.
@Suite(.inNetworkNamespace, .needsNetworkNamespace) struct BetterRouteTests {
    // STREAM-8: of two connections the one that would now be made from another address
    @Test("a better route is reported to the stream that does not use it")
    func aBetterRouteIsReportedToTheStreamThatDoesNotUseIt() async throws {
        try NetworkNamespace.raiseLoopback()
        let server = try ScriptedServer(.dualStack) { connection in
            while case let bytes = try connection.receive(), !bytes.isEmpty { try connection.send(bytes) }
        }
        defer { server.stop() }
        let delegate = RecordingStreamDelegate()
        let session = URLSession(delegate)
        // One loop for both, which asks them in this order whenever routes change.
        let streams = ["::1", "127.0.0.1"].map { session.streamTask(withHostName: $0, port: server.port) }
        for (stream, word) in zip(streams, ["first", "other"]) {
            stream.resume()
            delegate.write(stream, word)
            delegate.read(stream, 5, 5)
            try await delegate.calls.wait(for: .read(word, false, nil))
        }
        try NetworkNamespace.addWayOut()
        try NetworkNamespace.ip(
            "route", "replace", "local", "127.0.0.1", "dev", "lo", "table", "local", "src", "10.0.0.1")
        try await delegate.calls.wait(for: .betterRoute(2))
        // It is a hint: the connection stays as it is.
        delegate.write(streams[1], "again")
        delegate.read(streams[1], 5, 5)
        try await delegate.calls.wait(for: .read("again", false, nil))
        for stream in streams { stream.cancel() }
        session.finishTasksAndInvalidate()
        #expect(try await !delegate.callsUntilInvalid().contains(.betterRoute(1)))
        #expect(server.connectionCount == 2)
    }
}
