import Foundation
import TestSupport
import Testing
import URLLoading

/// The events of bound streams for delegates on their run loops. Without a check for leaks, because the first run
/// loop of a process leaves descriptors behind.
@Suite(.timeLimit(.minutes(1))) struct BoundStreamEventTests {
    /// Records events, as text with the name of the stream, and reacts to them.
    private final class Recorder: NSObject, StreamDelegate, @unchecked Sendable {
        // Sendable: `react` is set before there are events.
        let events = EventRecorder<String>()
        var react: (Stream, Stream.Event) -> Void = { _, _ in }

        func stream(_ aStream: Stream, handle eventCode: Stream.Event) {
            let name =
                switch eventCode {
                case .openCompleted: "open"
                case .hasBytesAvailable: "bytes"
                case .hasSpaceAvailable: "space"
                case .endEncountered: "end"
                case .errorOccurred: "error"
                default: "unknown"
                }
            events.record(name)
            react(aStream, eventCode)
        }
    }

    private let recorder = Recorder()

    private func schedule(_ stream: Stream) {
        stream.delegate = recorder
        stream.schedule(in: .current, forMode: .default)
    }

    /// Runs the run loop until no event is due, and returns all. A block that is added later is run later, so there is
    /// none if no event came before the block.
    private func events() -> [String] {
        var count: Int
        repeat {
            count = recorder.events.count
            let isReached = Signal()
            RunLoop.current.perform { isReached.fire() }
            while !isReached.isFired { _ = RunLoop.current.run(mode: .default, before: Date()) }
        } while recorder.events.count > count
        return recorder.events.events
    }

    // STREAM-12
    @Test("a writer reports its opening, then space once for each write, then the end") func writer() throws {
        let pair = try BoundStreams(bufferSize: 2)
        pair.input.open()
        schedule(pair.output)
        #expect(events() == [])
        for _ in 1...2 { pair.output.open() }
        #expect(events() == ["open", "space"])
        #expect(pair.write("a") == 1)
        #expect(events() == ["open", "space", "space"])
        #expect(pair.write("b") == 1)
        #expect(events() == ["open", "space", "space"])
        for _ in 1...2 { #expect(pair.read(1) != "-1") }
        #expect(events() == ["open", "space", "space", "space"])
        // Also though the space was not used.
        pair.input.close()
        #expect(events() == ["open", "space", "space", "space", "error"])
        #expect(pair.output.streamStatus == .error)
        #expect(pair.write("c") == -1)
        #expect(events() == ["open", "space", "space", "space", "error"])
        pair.output.close()
    }

    // STREAM-12
    @Test("a reader reports its opening, then bytes once for each read, then the end") func reader() throws {
        let pair = try BoundStreams(bufferSize: 4)
        pair.output.open()
        #expect(pair.write("a") == 1)
        schedule(pair.input)
        #expect(events() == [])
        for _ in 1...2 { pair.input.open() }
        #expect(events() == ["open", "bytes"])
        #expect(pair.write("bc") == 2)
        #expect(events() == ["open", "bytes"])
        #expect(pair.read(2) == "ab")
        #expect(events() == ["open", "bytes", "bytes"])
        #expect(pair.read(2) == "c")
        #expect(events() == ["open", "bytes", "bytes"])
        pair.output.close()
        #expect(events() == ["open", "bytes", "bytes", "end"])
        #expect(pair.input.streamStatus == .atEnd)
        #expect(pair.read(2) == "")
        #expect(events() == ["open", "bytes", "bytes", "end"])
        pair.input.close()
    }

    // STREAM-12
    @Test("the end comes after the bytes before it, and also if it was read already") func endAfterBytes() throws {
        let pair = try BoundStreams(bufferSize: 4).open()
        schedule(pair.input)
        #expect(pair.write("a") == 1)
        pair.output.close()
        #expect(events() == ["open", "bytes"])
        #expect([pair.read(4), pair.read(4)] == ["a", ""])
        #expect(events() == ["open", "bytes", "end"])
        pair.input.close()
    }

    // STREAM-12
    @Test("a write that fails is an event too") func failedWrite() throws {
        let pair = try BoundStreams(bufferSize: 4).open()
        schedule(pair.output)
        pair.input.close()
        #expect(pair.write("a") == -1)
        #expect(events() == ["open", "error"])
        pair.output.close()
    }

    // STREAM-12
    @Test("the release of the other stream is an event", arguments: [false, true]) func released(isReader: Bool) throws
    {
        var (input, output): (InputStream?, OutputStream?)
        Stream.getBoundStreams(withBufferSize: 4, inputStream: &input, outputStream: &output)
        let stream: Stream? = isReader ? input : output
        stream.map(schedule)
        stream?.open()
        if isReader { output = nil } else { input = nil }
        #expect(events() == ["open", isReader ? "end" : "error"])
        stream?.close()
    }

    // STREAM-12
    @Test("no event comes after the stream was closed or released", arguments: [false, true])
    func closed(isReleased: Bool) throws {
        var output: OutputStream?
        Stream.getBoundStreams(withBufferSize: 4, inputStream: nil, outputStream: &output)
        output.map(schedule)
        output?.open()
        if isReleased { output = nil } else { output?.close() }
        #expect(events() == [])
        output.map(schedule)
        #expect(events() == [])
    }

    // STREAM-12
    @Test("a delegate closes its stream, or removes it from the run loop", arguments: [false, true])
    func endedByDelegate(isRemoved: Bool) throws {
        let pair = try BoundStreams(bufferSize: 4)
        recorder.react = { stream, _ in
            if isRemoved { stream.remove(from: .current, forMode: .default) } else { stream.close() }
        }
        pair.input.open()
        schedule(pair.output)
        pair.output.open()
        #expect(events() == ["open"])
        pair.output.close()
    }

    // STREAM-12
    @Test("events wait while there is no run loop, and come on the one that is added") func moved() throws {
        let pair = try BoundStreams(bufferSize: 4).open()
        let own = pthread_self()
        recorder.react = { [events = recorder.events] _, _ in
            if pthread_equal(pthread_self(), own) == 0 { events.record("on another thread") }
        }
        schedule(pair.output)
        pair.output.remove(from: .current, forMode: .default)
        #expect(events() == [])
        schedule(pair.output)
        #expect(events() == ["open", "space"])
        pair.output.close()
    }

    // STREAM-12
    @Test("two delegates on two run loops pass all bytes") func twoRunLoops() throws {
        let pair = try BoundStreams(bufferSize: 100)
        let bytes = [UInt8].pattern(count: 20_000)
        let (writer, reader) = (Recorder(), Recorder())
        nonisolated(unsafe) var (rest, received): (ArraySlice<UInt8>, [UInt8]) = (bytes[...], [])
        writer.react = { stream, event in
            guard event == .hasSpaceAvailable else { return }
            rest = pair.write(rest, mayBlock: false)
            if rest.isEmpty { stream.close() }
        }
        reader.react = { stream, event in
            if event == .hasBytesAvailable {
                var buffer = [UInt8](repeating: 0, count: 70)
                let count = pair.input.read(&buffer, maxLength: buffer.count)
                received += buffer.prefix(max(0, count))
            }
            if event == .endEncountered { stream.close() }
        }
        let threads = [(pair.output as Stream, writer), (pair.input, reader)].map { stream, delegate in
            nonisolated(unsafe) let stream = stream
            let done = Signal("the end of a stream")
            Thread {
                stream.delegate = delegate
                stream.schedule(in: .current, forMode: .default)
                stream.open()
                let end = Date(timeIntervalSinceNow: 30)
                while stream.streamStatus != .closed, end > Date() {
                    _ = RunLoop.current.run(mode: .default, before: end)
                }
                done.fire()
            }.start()
            return done
        }
        for thread in threads { try thread.wait() }
        #expect(received == bytes)
        #expect(writer.events.events.filter { $0 != "space" } == ["open"])
        #expect(reader.events.events.filter { $0 != "bytes" } == ["open", "end"])
    }

    // STREAM-12, T-51
    @Test("a delegate writes the body of a request while it is sent") func uploaded() async throws {
        let server = try ScriptedServer.weighing()
        defer { server.stop() }
        let pair = try BoundStreams(bufferSize: 1000)
        let bytes = [UInt8].pattern(count: 50_000)
        nonisolated(unsafe) var rest = bytes[...]
        recorder.react = { stream, event in
            guard event == .hasSpaceAvailable else { return }
            rest = pair.write(rest, mayBlock: false)
            if rest.isEmpty { stream.close() }
        }
        let hasEnded = Signal("the end of the writer")
        Thread {
            schedule(pair.output)
            pair.output.open()
            let end = Date(timeIntervalSinceNow: 30)
            while pair.output.streamStatus == .open, end > Date() {
                _ = RunLoop.current.run(mode: .default, before: end)
            }
            hasEnded.fire()
        }.start()
        var request = URLRequest(url: server.url("/"))
        request.httpMethod = "PUT"
        request.httpBodyStream = pair.input
        let session = URLSession(configuration: .ephemeral)
        defer { session.invalidateAndCancel() }
        let (data, _) = try await session.data(for: request)
        #expect(String(decoding: data, as: UTF8.self) == "PUT \(bytes.weight)")
        try await hasEnded.wait()
    }
}
