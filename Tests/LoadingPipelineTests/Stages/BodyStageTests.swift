import Foundation
import LoadingConnections
import LoadingSemantics
import LoadingTestSupport
import LoadingTransport
import TestSupport
import Testing

@testable import LoadingPipeline

/// The body of a request, each time that the request goes out.
@Suite struct BodyStageTests {
    private typealias Part = BodyStage.Part

    /// A stage, its requests to the client, and what it has delivered.
    private final class Bench {
        let stage = BodyStage()
        var events: [String] = []
        private var askedOffset: Int64 = 0

        func prepare(_ body: LoadBody, _ part: BodyStage.Part = BodyStage.Part(), as name: String = "") {
            let ask = { [self] (offset: Int64) in
                events.append("asks from \(offset)")
                askedOffset = offset
            }
            stage.prepare(body, part, asking: ask) { [self] result in
                events.append(name + BodyStageTests.text(of: result))
            }
        }

        /// The answer to the last question.
        func provide(_ source: FakeBodySource?) { stage.provide(source, from: askedOffset) }
    }

    fileprivate static func text(of result: Result<RequestBody, LoadError>) -> String {
        switch result {
        case .success(.none): "none"
        case .success(.bytes(let data)): "bytes \(String(decoding: data, as: UTF8.self))"
        case .success(.source(let source, let length)):
            "\(type(of: source)) of \(length.map(String.init) ?? "unknown length")"
        case .failure(let error): "failed \(error.code)"
        }
    }

    // MARK: Bytes

    @Test("no body is none, whichever part is asked for") func nothing() {
        let bench = Bench()
        bench.prepare(.none)
        bench.prepare(.none, Part(offset: 5, length: 1))
        #expect(bench.events == ["none", "none"])
    }

    // RES-13, RES-21, R-6
    @Test(
        "the part of a body in memory, as often as it is asked for",
        arguments: [
            (0, nil, "bytes hello"), (0, 5, "bytes hello"), (0, 2, "bytes he"), (2, nil, "bytes llo"),
            (2, 1, "bytes l"),
            (5, nil, "none"), (5, 0, "none"), (2, 0, "none"),
            // A body that is shorter than it was.
            (6, nil, "failed -1021"), (0, 6, "failed -1021"), (4, 2, "failed -1021"), (-1, nil, "failed -1021"),
            (0, -1, "failed -1021"), (1, .max, "failed -1021"), (.max, .max, "failed -1021"),
        ] as [(Int64, Int64?, String)])
    func bytes(offset: Int64, length: Int64?, expected: String) {
        let bench = Bench()
        for _ in 0..<2 { bench.prepare(.bytes(Data("hello".utf8)), Part(offset: offset, length: length)) }
        #expect(bench.events == [expected, expected])
        #expect(bench.stage.file == nil)
    }

    // MARK: Files

    /// What comes of a file, asked for twice at a time: the second time counts.
    private func file(_ url: URL, _ part: BodyStage.Part) async throws -> (events: [String], length: Int64?) {
        let stepped = try SteppedLoop()
        let bench = try await stepped.run { [loop = stepped.loop] in
            let bench = Bench()
            let reader = FileReader(path: url.path, on: loop)
            bench.prepare(.file(reader), part, as: "first: ")
            bench.prepare(.file(reader), part)
            return LoopBox(bench)
        }
        try await stepped.settle()
        return try await stepped.run { (bench.value.events, bench.value.stage.file?.length) }
    }

    // T-51, RES-13
    @Test(
        "the part of a file, which is looked at each time",
        arguments: [
            (0, nil, "FileBodySource of 5"), (2, nil, "FileBodySource of 3"), (2, 1, "FileBodySource of 1"),
            (5, nil, "FileBodySource of 0"), (6, nil, "failed -1021"), (4, 2, "failed -1021"),
        ] as [(Int64, Int64?, String)])
    func files(offset: Int64, length: Int64?, expected: String) async throws {
        let folder = try TemporaryDirectory()
        let result = try await file(try folder.write("hello", to: "body"), Part(offset: offset, length: length))
        #expect(result.events == [expected])
        #expect(result.length == 5)
    }

    // ERR-8
    @Test("a file that is not there") func noFile() async throws {
        let folder = try TemporaryDirectory()
        let result = try await file(folder.file("gone"), Part())
        #expect(result.events == ["failed -1100"])
        #expect(result.length == nil)
    }

    @Test("a cancelled file") func cancelledFile() async throws {
        let folder = try TemporaryDirectory()
        let path = try folder.write("hello", to: "body").path
        let stepped = try SteppedLoop()
        let bench = try await stepped.run { [loop = stepped.loop] in
            let bench = Bench()
            bench.prepare(.file(FileReader(path: path, on: loop)))
            bench.stage.cancel()
            return LoopBox(bench)
        }
        try await stepped.settle()
        #expect(try await stepped.run { bench.value.events } == [])
    }

    // MARK: Streams

    // S-50: `given` is what came with the request, if any
    @Test(
        "a stream is sent once, and another asked for after that",
        arguments: [
            (nil, 0, nil, ["asks from 0"]),
            ("untouched", 0, nil, ["FakeBodySource of unknown length"]),
            ("untouched", 0, 9, ["FakeBodySource of 9"]),
            ("touched", 0, nil, ["asks from 0"]),
            ("untouched", 3, 9, ["asks from 3"]),
        ] as [(String?, Int64, Int64?, [String])])
    func streams(given: String?, offset: Int64, length: Int64?, expected: [String]) {
        let bench = Bench()
        let source = given.map { _ in FakeBodySource() }
        if given == "touched" { source?.touch() }
        bench.prepare(.stream(source, length: length), Part(offset: offset))
        #expect(bench.events == expected)
    }

    // T-51
    @Test("a stream that was given stays good until it is read from") func givenStreams() {
        let bench = Bench()
        bench.prepare(.stream(nil, length: nil))
        let source = FakeBodySource()
        bench.provide(source)
        // As after a connection that was lost before anything was sent.
        bench.prepare(.stream(nil, length: nil))
        source.touch()
        bench.prepare(.stream(nil, length: nil))
        #expect(
            bench.events == [
                "asks from 0", "FakeBodySource of unknown length", "FakeBodySource of unknown length", "asks from 0",
            ])
        #expect(!source.isCancelled)
    }

    // T-51, RES-13: what an upload goes on with begins where it is asked to
    @Test("a stream from an offset on is good for that offset alone") func offsets() {
        let bench = Bench()
        bench.prepare(.stream(nil, length: 9), Part(offset: 4))
        bench.provide(FakeBodySource())
        bench.prepare(.stream(nil, length: 9), Part(offset: 4))
        bench.prepare(.stream(nil, length: 9), Part(offset: 5))
        #expect(bench.events == ["asks from 4", "FakeBodySource of 5", "FakeBodySource of 5", "asks from 5"])
    }

    // S-50: the body of another request is another stream
    @Test("another request may bring another stream, and the same one only once") func otherStreams() {
        let bench = Bench()
        let first = FakeBodySource()
        bench.prepare(.stream(first, length: 1))
        first.touch()
        bench.prepare(.stream(first, length: 1))
        bench.provide(FakeBodySource())
        bench.prepare(.stream(FakeBodySource(), length: 2))
        #expect(bench.events == ["FakeBodySource of 1", "asks from 0", "FakeBodySource of 1", "FakeBodySource of 2"])
    }

    @Test("a client is asked once, and the last preparation gets the stream") func askedOnce() {
        let bench = Bench()
        bench.prepare(.stream(nil, length: nil), as: "first: ")
        bench.prepare(.stream(nil, length: nil), as: "second: ")
        bench.provide(FakeBodySource())
        #expect(bench.events == ["asks from 0", "second: FakeBodySource of unknown length"])
    }

    @Test("another part is asked for separately") func anotherPart() {
        let bench = Bench()
        bench.prepare(.stream(nil, length: nil), as: "first: ")
        bench.prepare(.stream(nil, length: nil), Part(offset: 7), as: "second: ")
        #expect(bench.events == ["asks from 0", "asks from 7"])
    }

    // T-51, RES-18: the connection was lost before the delegate had answered the first question
    @Test("a late answer to an earlier request for a stream is not sent from another offset") func late() {
        let bench = Bench()
        bench.prepare(.stream(nil, length: 10), as: "first: ")
        bench.prepare(.stream(nil, length: 10), Part(offset: 5), as: "second: ")
        let (whole, rest) = (FakeBodySource(), FakeBodySource())
        bench.stage.provide(whole, from: 0)
        #expect(whole.isCancelled)
        bench.stage.provide(rest, from: 5)
        #expect(!rest.isCancelled)
        #expect(bench.events == ["asks from 0", "asks from 5", "second: FakeBodySource of 5"])
    }

    // T-51
    @Test("a client without a stream") func noStream() {
        let bench = Bench()
        bench.prepare(.stream(nil, length: nil))
        bench.provide(nil)
        // The second answer is to nothing.
        bench.provide(nil)
        #expect(bench.events == ["asks from 0", "failed -1021"])
    }

    @Test("a stream that was not asked for is cancelled", arguments: [false, true])
    func unwanted(wasAsked: Bool) {
        let bench = Bench()
        if wasAsked {
            bench.prepare(.stream(nil, length: nil))
            bench.stage.cancel()
        }
        let source = FakeBodySource()
        bench.provide(source)
        #expect(source.isCancelled)
        #expect(bench.events == (wasAsked ? ["asks from 0"] : []))
    }

    // RES-21: with a length the request says how much it is; without, what is too much is cut off
    @Test(
        "how much of a stream a request announces",
        arguments: [
            (0, nil, nil, nil), (4, nil, nil, nil), (0, 3, nil, nil), (0, nil, 9, 9), (4, nil, 9, 5), (4, 3, 9, 3),
            (4, 7, 9, 5), (9, nil, 9, 0), (10, nil, 9, 0), (10, 3, 9, 0),
        ] as [(Int64, Int64?, Int64?, Int64?)])
    func announced(offset: Int64, length: Int64?, total: Int64?, expected: Int64?) {
        #expect(Part(offset: offset, length: length).announcedLength(of: total) == expected)
        let bench = Bench()
        bench.prepare(.stream(nil, length: total), Part(offset: offset, length: length))
        bench.provide(FakeBodySource())
        let type = length != nil && total == nil ? "LimitedBodySource" : "FakeBodySource"
        #expect(bench.events.last == "\(type) of \(expected.map(String.init) ?? "unknown length")")
    }
}
