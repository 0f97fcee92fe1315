import Foundation
import TestSupport
import Testing
import URLLoading

/// Pairs of connected streams, without a run loop.
@Suite(.leavesNothing, .timeLimit(.minutes(1))) struct BoundStreamTests {
    // STREAM-11
    @Test("a reader and a writer on two threads wait for each other", arguments: [1, 4, 5000])
    func waiting(bufferSize: Int) async throws {
        let pair = try BoundStreams(bufferSize: bufferSize).open()
        let bytes = [UInt8].pattern(count: 20_000)
        let hasEnded = Signal("the end of the writer")
        Thread {
            _ = pair.write(bytes[...], mayBlock: true)
            pair.output.close()
            hasEnded.fire()
        }.start()
        var (received, buffer): ([UInt8], [UInt8]) = ([], Array(repeating: 0, count: 7))
        while case let count = pair.input.read(&buffer, maxLength: 7), count > 0 { received += buffer[..<count] }
        #expect(received == bytes)
        #expect(pair.input.streamStatus == .atEnd)
        try await hasEnded.wait()
    }

    // STREAM-11
    @Test("what is written is read, until the end") func states() throws {
        let pair = try BoundStreams(bufferSize: 4).open()
        #expect([pair.input.streamStatus, pair.output.streamStatus] == [.open, .open])
        #expect([pair.input.hasBytesAvailable, pair.output.hasSpaceAvailable] == [false, true])
        #expect(pair.write("abcdef") == 4)
        #expect([pair.input.hasBytesAvailable, pair.output.hasSpaceAvailable] == [true, false])
        #expect(pair.read(3) == "abc")
        #expect(pair.write("efgh") == 3)
        pair.output.close()
        #expect(pair.write("i") == -1)
        #expect(pair.read(9) == "defg")
        #expect(pair.input.hasBytesAvailable)
        #expect(pair.read(9) == "")
        #expect([pair.input.streamStatus, pair.output.streamStatus] == [.atEnd, .closed])
        #expect(!pair.input.hasBytesAvailable)
    }

    // STREAM-11
    @Test("a buffer has a size of at least one byte", arguments: [Int.min, -1, 0, 1, .max])
    func sizes(bufferSize: Int) throws {
        let pair = try BoundStreams(bufferSize: bufferSize).open()
        #expect(pair.write("abc") == (bufferSize == .max ? 3 : 1))
        #expect(pair.read(1) == "a")
    }

    // STREAM-11
    @Test("reads and writes fail unless the stream is open; those of nothing have no effect") func misuse() throws {
        let pair = try BoundStreams(bufferSize: 4)
        #expect([pair.read(1), "\(pair.write("a"))"] == ["-1", "-1"])
        #expect([pair.input.streamStatus, pair.output.streamStatus] == [.notOpen, .notOpen])
        _ = pair.open().open()
        #expect([pair.read(0), pair.read(-1), "\(pair.output.write([], maxLength: -1))"] == ["", "", "0"])
        for _ in 1...2 {
            pair.input.close()
            pair.output.close()
            _ = pair.open()
            #expect([pair.read(1), "\(pair.write("a"))"] == ["-1", "-1"])
            #expect([pair.input.streamStatus, pair.output.streamStatus] == [.closed, .closed])
            #expect([pair.input.hasBytesAvailable, pair.output.hasSpaceAvailable] == [false, false])
        }
        Stream.getBoundStreams(withBufferSize: 1, inputStream: nil, outputStream: nil)
    }

    // STREAM-11
    @Test("a writer learns that the reader is gone", arguments: [false, true]) func noReader(isReleased: Bool) throws {
        var (input, output): (InputStream?, OutputStream?)
        Stream.getBoundStreams(withBufferSize: 4, inputStream: &input, outputStream: &output)
        input?.open()
        if isReleased { input = nil } else { input?.close() }
        let stream = try #require(output)
        stream.open()
        #expect(stream.hasSpaceAvailable)
        #expect(stream.write([1], maxLength: 1) == -1)
        #expect(stream.streamStatus == .error)
        let error = try #require(stream.streamError as NSError?)
        #expect((error.domain, error.code) == (NSPOSIXErrorDomain, Int(EPIPE)))
    }

    // STREAM-11
    @Test("a reader learns that the writer is gone", arguments: [false, true]) func noWriter(isReleased: Bool) throws {
        var (input, output): (InputStream?, OutputStream?)
        Stream.getBoundStreams(withBufferSize: 4, inputStream: &input, outputStream: &output)
        output?.open()
        #expect(output?.write([7], maxLength: 1) == 1)
        if isReleased { output = nil } else { output?.close() }
        let stream = try #require(input)
        stream.open()
        var bytes: [UInt8] = [0, 0]
        let counts = [stream.read(&bytes, maxLength: 2), stream.read(&bytes, maxLength: 2)]
        #expect(counts == [1, 0])
        #expect(bytes == [7, 0])
    }

    // STREAM-11
    @Test("closing either stream ends a call that waits", arguments: [false, true], [false, true])
    func closedMeanwhile(isReading: Bool, closesInput: Bool) async throws {
        let pair = try BoundStreams(bufferSize: 1).open()
        let results = EventRecorder<String>()
        if !isReading { #expect(pair.write("a") == 1) }
        let isStarted = Signal("the start of the call")
        Thread {
            isStarted.fire()
            results.record(isReading ? pair.read(1) : "\(pair.write("b"))")
        }.start()
        try await isStarted.wait()
        (closesInput ? pair.input : pair.output).close()
        // Only the reader has an end that is no error.
        #expect(try await results.waitFor(count: 1) == [isReading && !closesInput ? "" : "-1"])
    }

    // STREAM-11, T-51
    @Test("a body is written while it is sent") func uploaded() async throws {
        let server = try ScriptedServer.weighing()
        defer { server.stop() }
        let pair = try BoundStreams(bufferSize: 1000)
        pair.output.open()
        let delegate = RecordingUploadDelegate()
        delegate.stream = { _, answer in answer(pair.input) }
        let bytes = [UInt8].pattern(count: 50_000)
        Thread {
            _ = pair.write(bytes[...], mayBlock: true)
            pair.output.close()
        }.start()
        let calls = try await UploadRun(server: server).calls(delegate) { $0.uploadTask(withStreamedRequest: $1) }
        #expect(calls.contains(.data(1, "PUT \(bytes.weight)")))
    }

    // STREAM-11, T-51
    @Test("a cancelled upload closes the stream for whose bytes it waits") func cancelled() async throws {
        let hasByte = Signal("the body's first byte")
        let server = try ScriptedServer { connection in
            _ = try connection.receive(through: "\r\n\r\n")
            // The chunk's size line comes first.
            _ = try connection.receive(through: "\r\na")
            hasByte.fire()
            _ = try connection.waitForClose()
        }
        defer { server.stop() }
        let pair = try BoundStreams(bufferSize: 1)
        pair.output.open()
        let delegate = RecordingUploadDelegate()
        delegate.stream = { _, answer in answer(pair.input) }
        #expect(pair.write("a") == 1)
        _ = try await UploadRun(server: server).calls(delegate) { session, request in
            let task = session.uploadTask(withStreamedRequest: request)
            Thread {
                try? hasByte.wait()
                task.cancel()
            }.start()
            return task
        }
        #expect(pair.write("b") == -1)
        #expect([pair.input.streamStatus, pair.output.streamStatus] == [.closed, .error])
    }
}
