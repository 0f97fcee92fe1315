import Foundation
import TestSupport
import Testing
import URLLoading

/// Captured streams.
@Suite(.leavesNothing) struct CapturedStreamTests {
    /// The captured streams of a connection.
    private final class Pair: @unchecked Sendable {
        // Sendable: used by one thread after the other.
        let input: InputStream
        let output: OutputStream

        init(_ input: InputStream, _ output: OutputStream) { (self.input, self.output) = (input, output) }

        func read(_ count: Int) -> String {
            var bytes = [UInt8](repeating: 0, count: count)
            var filled = 0
            while filled < count {
                let got = bytes.withUnsafeMutableBufferPointer { buffer in
                    buffer.baseAddress.map { input.read($0 + filled, maxLength: count - filled) } ?? -1
                }
                guard got > 0 else { return "\(String(decoding: bytes.prefix(filled), as: UTF8.self))|\(got)" }
                filled += got
            }
            return String(decoding: bytes, as: UTF8.self)
        }

        func write(_ text: String) -> Int {
            var left = Array(text.utf8)[...]
            while !left.isEmpty {
                let count = left.withUnsafeBufferPointer { buffer in
                    buffer.baseAddress.map { output.write($0, maxLength: buffer.count) } ?? -1
                }
                guard count > 0 else { return count }
                left = left.dropFirst(count)
            }
            return text.utf8.count
        }
    }

    private func capture(
        _ server: ScriptedServer, isSecure: Bool, _ use: @escaping @Sendable (Pair) -> Void
    ) async throws -> [Call] {
        let delegate = RecordingStreamDelegate()
        let pair = Watched<Pair?>(nil)
        delegate.captured = { input, output in pair.withValue { $0 = Pair(input, output) } }
        let session = URLSession(delegate)
        let task = session.streamTask(to: server)
        if isSecure { task.startSecureConnection() }
        delegate.read(task, 5, 5)
        delegate.write(task, "first")
        task.captureStreams()
        delegate.write(task, "late")
        task.resume()
        session.finishTasksAndInvalidate()
        let calls = try await delegate.callsUntilInvalid()
        #expect(delegate.faults.events == [])
        #expect(task.state == .completed)
        #expect(task.error == nil)
        let captured = try #require(pair.current)
        pair.withValue { $0 = nil }
        let isDone = Signal("the streams' user")
        Thread {
            use(captured)
            isDone.fire()
        }.start()
        try await isDone.wait()
        return calls
    }

    private func server(isSecure: Bool, _ script: @escaping ScriptedServer.Script) throws -> ScriptedServer {
        try ScriptedServer(tls: isSecure ? try TrustedAuthority.server() : nil, script: script)
    }

    // STREAM-7
    @Test("the streams go on with the connection", arguments: [false, true]) func goingOn(isSecure: Bool) async throws {
        let server = try server(isSecure: isSecure) { connection in
            // More than the task reads: the rest is the stream's.
            try connection.send("hello world")
            #expect(try connection.receive(exactly: 5) == Array("first".utf8))
            let echoed = try connection.receive(exactly: 1_000_000)
            try connection.send(echoed)
            try connection.waitForClose()
        }
        defer { server.stop() }
        let calls = try await capture(server, isSecure: isSecure) { pair in
            #expect(pair.input.streamStatus == .notOpen)
            #expect(pair.read(1) == "|-1")
            #expect(pair.write("a") == -1)
            pair.input.open()
            pair.output.open()
            #expect(pair.input.streamStatus == .open)
            #expect(pair.read(6) == " world")
            #expect(pair.output.hasSpaceAvailable)
            let text = String(repeating: "x", count: 1_000_000)
            #expect(pair.write(text) == 1_000_000)
            #expect(pair.read(1_000_000) == text)
            // Half a close: the server's answer to it is still read.
            pair.output.close()
            #expect(pair.read(1) == "|0")
            #expect(pair.input.streamStatus == .atEnd)
            pair.input.close()
            #expect(pair.input.streamStatus == .closed)
        }
        #expect(
            Set(calls) == [
                .created(1), .read("hello", false, nil), .written(nil), .written(.networkConnectionLost), .captured(1),
                .invalid,
            ])
        #expect(calls.suffix(2) == [.captured(1), .invalid])
        try await server.finish()
    }

    // STREAM-7: without closing them
    @Test("streams that are dropped", arguments: [false, true]) func dropped(isSecure: Bool) async throws {
        let server = try server(isSecure: isSecure) { connection in
            try connection.send("hello")
            try connection.waitForClose()
        }
        defer { server.stop() }
        _ = try await capture(server, isSecure: isSecure) { _ in }
        try await server.finish()
    }

    // STREAM-7
    @Test("the peer resets the connection", arguments: [false, true]) func reset(isSecure: Bool) async throws {
        let server = try server(isSecure: isSecure) { connection in
            try connection.send("hello")
            _ = try connection.receive(exactly: 6)
            connection.reset()
        }
        defer { server.stop() }
        _ = try await capture(server, isSecure: isSecure) { pair in
            pair.input.open()
            pair.output.open()
            #expect(pair.write("!") == 1)
            #expect(pair.read(1) == "|-1")
            #expect(pair.input.streamStatus == .error)
            #expect((pair.input.streamError as NSError?)?.domain == NSPOSIXErrorDomain)
        }
    }

    // STREAM-7, T-24: no delegate implements the method
    @Test("a delegate without the method for streams") func withoutTheMethod() async throws {
        let server = try ScriptedServer { connection in try connection.waitForClose() }
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession(delegate)
        let task = session.streamTask(to: server)
        task.captureStreams()
        task.resume()
        session.finishTasksAndInvalidate()
        #expect(try await delegate.callsUntilInvalid() == [.created(1), .invalid])
        try await server.finish()
    }
}
