import Foundation
import LoadingEvents
import LoadingProtocols
import LoadingSemantics
import LoadingTestSupport
import LoadingTransport
import TestSupport
import Testing

@testable import LoadingPipeline

/// The way of a body to the client, and what stops it.
@Suite struct BodySinkTests {
    // T-62
    @Test("pieces go to the client as they come") func pieces() async {
        await onLoop { loop in
            let (sink, owner) = opened(.pieces, loop)
            sink.receive("hello ")
            sink.receive("world")
            #expect(owner.events == ["hello ", "world"] && sink.deliveredBytes == 11 && sink.isDelivered)
        }
    }

    @Test("a body that is wanted whole is collected") func whole() async {
        await onLoop { loop in
            let (sink, owner) = opened(.whole, loop)
            sink.receive("hello ")
            sink.receive("world")
            #expect(owner.events == ["collected 6", "collected 11"])
            #expect(sink.takeCollected() == Data("hello world".utf8))
            #expect(sink.takeCollected() == nil)
        }
    }

    // T-65
    @Test("a client that has enough gets nothing until it wants more") func full() async {
        await onLoop { loop in
            let (sink, owner) = opened(.pieces, loop)
            owner.takes = 1
            sink.receive("one")
            #expect(!sink.isFlowing)
            sink.receive("two")
            sink.receive("three")
            #expect(owner.events == ["one", "flow"] && sink.backlogCount == 8 && !sink.isDelivered)
            owner.takes = 1
            let hadEnough = sink.resumeReading()
            let again = sink.resumeReading()
            #expect(hadEnough && !again)
            sink.deliverBacklog()
            #expect(owner.events == ["one", "flow", "twothree", "flow"] && sink.isDelivered)
        }
    }

    // T-2
    @Test("nothing goes through that the owner holds up, and there is no memory to read into") func held() async {
        await onLoop { loop in
            let (sink, owner) = opened(.pieces, loop)
            owner.mayDeliverBody = false
            sink.receive("early")
            #expect(owner.events == [] && sink.room(most: 10) == nil && sink.pipe == nil)
            owner.mayDeliverBody = true
            // What was put by comes first.
            #expect(sink.room(most: 10) == nil)
            sink.deliverBacklog()
            #expect(owner.events == ["early"] && sink.room(most: 10)?.count == 10)
        }
    }

    @Test("what was read into the sink's memory before the flow stopped is put by") func filled() async {
        await onLoop { loop in
            let (sink, owner) = opened(.pieces, loop)
            sink.room(most: 3)?.copyBytes(from: Array("abc".utf8))
            owner.mayDeliverBody = false
            sink.filled(3)
            #expect(owner.events == [] && sink.backlogCount == 3)
            owner.mayDeliverBody = true
            sink.deliverBacklog()
            #expect(owner.events == ["abc"])
        }
    }

    // ENC-1: whoever takes all of a body has a megabyte of it in one turn, and then others have theirs
    @Test("a coded body is unfolded a buffer at a time, and so much of it in a turn") func coded() async throws {
        let member = [UInt8](repeating: 0x61, count: 65_535)
        let packed = [[UInt8]](repeating: CodedBodies.gzip(member), count: 64).flatMap { $0 }
        let whole = Int64(member.count * 64)
        await onLoop { loop in
            let (sink, owner) = opened(.whole, loop)
            begin(sink, "Content-Encoding", "gzip")
            packed.withUnsafeBytes { sink.receive($0) }
            #expect(sink.deliveredBytes >= 1 << 20 && sink.deliveredBytes < 2 << 20)
            #expect(!sink.isFlowing && !sink.isDelivered)
            while sink.resumeReading() { sink.deliverBacklog() }
            #expect(sink.deliveredBytes == whole && sink.isDelivered && owner.failure == nil)
            #expect(throws: Never.self) { try sink.finishDecoding() }
        }
    }

    // ENC-7
    @Test("a coded body that is wrong ends the load") func wrong() async {
        await onLoop { loop in
            let (sink, owner) = opened(.pieces, loop)
            begin(sink, "Content-Encoding", "gzip")
            sink.receive("this is no gzip at all")
            #expect(owner.failure?.code == LoadError.cannotDecodeRawData.code)
        }
    }

    // MISC-23
    @Test("parts are delivered as responses, and the rest waits for the client's answer") func parts() async throws {
        await onLoop { loop in
            let (sink, owner) = opened(.pieces, loop)
            let head = begin(sink, "Content-Type", "multipart/x-mixed-replace; boundary=cut")
            sink.parts = MultipartStage(LoadResponse(url: url, head: head, expectedLength: -1))
            owner.answersLater = true
            sink.receive("--cut\r\nA: 1\r\n\r\none\r\n--cut\r\nA: 2\r\n\r\ntwo\r\n--cut--\r\n")
            #expect(owner.events == ["part 1"])
            for _ in 0..<2 {
                owner.mayDeliverBody = true
                sink.deliverBacklog()
            }
            #expect(owner.events == ["part 1", "one", "part 2", "two"] && sink.isDelivered)
            #expect((try? sink.finishParts(endsWithConnection: true)) == .delivered)
        }
    }

    @Test("many parts that come at once are delivered one by one") func manyParts() async throws {
        await onLoop { loop in
            let (sink, owner) = opened(.pieces, loop)
            let head = begin(sink, "Content-Type", "multipart/x-mixed-replace; boundary=b")
            sink.parts = MultipartStage(LoadResponse(url: url, head: head, expectedLength: -1))
            owner.answersLater = true
            let count = 1000
            sink.receive(String(repeating: "\r\n--b\r\n\r\n", count: count) + "\r\n--b--\r\n")
            for _ in 1..<count {
                owner.mayDeliverBody = true
                sink.deliverBacklog()
            }
            #expect(owner.events.count == count)
        }
    }

    @Test("many parts that come at once are delivered in several turns") func partsOfATurn() async throws {
        await onLoop { loop in
            let (sink, owner) = opened(.pieces, loop)
            let head = begin(sink, "Content-Type", "multipart/x-mixed-replace; boundary=b")
            sink.parts = MultipartStage(LoadResponse(url: url, head: head, expectedLength: -1))
            func events() -> Int { owner.events.count { $0.hasPrefix("part") } }
            sink.receive(String(repeating: "\r\n--b\r\n\r\n", count: 150) + "\r\n--b--\r\n")
            var counts = [events()]
            while !sink.isDelivered, counts.count < 10 {
                _ = sink.resumeReading()
                sink.deliverBacklog()
                counts.append(events())
            }
            #expect(counts == [64, 128, 150])
        }
    }

    // MISC-23
    @Test("a body that was to have parts and has none") func noParts() async throws {
        await onLoop { loop in
            let (sink, _) = opened(.pieces, loop)
            let head = begin(sink, "Content-Type", "multipart/x-mixed-replace; boundary=cut")
            sink.parts = MultipartStage(LoadResponse(url: url, head: head, expectedLength: -1))
            #expect((try? sink.finishParts(endsWithConnection: true)) == BodySink.PartsEnd.none)
        }
    }

    // RES-1: what has come is in the file when the load fails
    @Test("a file is closed after a failure, and its owner is notified") func file() async throws {
        let folder = try TemporaryDirectory()
        let owner = Owner()
        let sink = await onLoop { loop in
            let sink = BodySink(.file(.newFile(inFolder: folder.path)), on: loop)
            sink.owner = owner
            sink.open()
            sink.receive("half")
            owner.mayDeliverBody = false
            sink.giveUpFile()
            return LoopBox(sink)
        }
        let path = try #require(await owner.closed.waitFor(count: 1).first)
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "half")
        await onLoop { _ in #expect(sink.value.writer == nil) }
    }

    // MARK: Files

    @Test("a complete body without a file waits for nothing") func closesNoFile() async {
        await onLoop { loop in
            for destination in [BodyDestination.pieces, .whole] {
                let (sink, owner) = opened(destination, loop)
                sink.receive("all")
                let isDone = sink.closeFile()
                #expect(isDone && owner.outcome == nil)
            }
        }
    }

    // S-70: the file is whole when its path is delivered, once
    @Test("a complete body waits for its file, also if it fails then") func closesFile() async throws {
        let file = try FileSink()
        let isDone = try await file.run { sink in
            sink.receive("all")
            let isDone = sink.closeFile()
            sink.giveUpFile(isClosing: true)
            return isDone
        }
        #expect(!isDone)
        try await file.stepped.settle()
        #expect(try await file.events() == ["written 3", "room", "closed"])
        #expect(try await file.content() == "all")
        #expect(try await file.run { $0.writer == nil })
    }

    // RES-1: an empty body has a file too
    @Test("the file of an empty body") func emptyFile() async throws {
        let file = try FileSink()
        _ = try await file.run { $0.closeFile() }
        try await file.stepped.settle()
        #expect(try await file.events() == ["closed"])
        #expect(try await file.content() == "")
    }

    @Test("a discarded file is removed, and nothing is reported") func discards() async throws {
        let file = try FileSink()
        try await file.run { $0.receive("something") }
        try await file.stepped.settle()
        try await file.run { sink in
            sink.receive("more")
            sink.discardFile()
            #expect(sink.writer == nil)
        }
        try await file.stepped.settle()
        #expect(try await file.events() == ["written 9", "room"])
        #expect(try FileManager.default.contentsOfDirectory(atPath: file.folder.path) == [])
    }

    // T-65: reading stops while the disk has enough to do
    @Test("a file stops the flow at 256 KiB that are not written") func fileIsFull() async throws {
        let file = try FileSink()
        let first = 256 * 1024 - 1
        try await file.run { sink in
            sink.receive(String(repeating: "a", count: first))
            #expect(sink.isFlowing)
            sink.receive("b")
            #expect(!sink.isFlowing && sink.room(most: 10) == nil)
            sink.receive("late")
            #expect(sink.backlogCount == 4 && !sink.isDelivered && sink.deliveredBytes == Int64(first + 1))
        }
        try await file.stepped.settle()
        #expect(try await file.events() == ["flow", "written \(first + 1)", "room"])
        try await file.run { sink in
            // Room alone does not have the sink go on: its owner has to resume it.
            #expect(!sink.isFlowing)
            let hadStopped = sink.resumeReading()
            sink.deliverBacklog()
            let isDone = sink.closeFile()
            #expect(hadStopped && !isDone)
        }
        try await file.stepped.settle()
        #expect(try await file.events().suffix(3) == ["written 4", "room", "closed"])
        #expect(try await file.content() == String(repeating: "a", count: first) + "blate")
    }

    // MARK: Pipes

    @Test("a body may go to its file through a pipe, one filling at a time") func pipe() async throws {
        let file = try FileSink()
        try await file.run { sink in
            guard let entrance = sink.pipe else {
                Issue.record("no pipe")
                return
            }
            #expect(write(entrance, "piped", 5) == 5)
            sink.filledPipe(5)
            // As much is on its way as there is room for.
            #expect(!sink.isFlowing && sink.pipe == nil && sink.deliveredBytes == 5)
            sink.receive("late")
            #expect(sink.backlogCount == 4)
        }
        try await file.stepped.settle()
        #expect(try await file.events() == ["flow", "written 5", "room"])
        try await file.run { sink in
            _ = sink.resumeReading()
            // What was put by comes first.
            #expect(sink.pipe == nil)
            sink.deliverBacklog()
            guard let entrance = sink.pipe else {
                Issue.record("no pipe")
                return
            }
            #expect(write(entrance, "!", 1) == 1)
            sink.filledPipe(1)
            _ = sink.closeFile()
        }
        try await file.stepped.settle()
        #expect(try await file.content() == "pipedlate!")
        #expect(try await file.run { $0.deliveredBytes } == 10)
    }

    // ENC-1, MISC-23
    @Test("what is decoded, split or held up goes through no pipe") func noPipe() async throws {
        let file = try FileSink()
        let owner = file.owner
        try await file.run { sink in
            #expect(sink.pipe != nil)
            owner.mayDeliverBody = false
            #expect(sink.pipe == nil)
            owner.mayDeliverBody = true
            let head = begin(sink, "Content-Type", "multipart/x-mixed-replace; boundary=cut")
            sink.parts = MultipartStage(LoadResponse(url: url, head: head, expectedLength: -1))
            #expect(sink.parts != nil && sink.pipe == nil && sink.room(most: 10) == nil)
            sink.beginResponse()
            #expect(sink.pipe != nil)
            begin(sink, "Content-Encoding", "gzip")
            #expect(sink.pipe == nil && sink.room(most: 10) == nil)
            sink.discardFile()
        }
        await onLoop { loop in
            let (sink, _) = opened(.pieces, loop)
            #expect(sink.pipe == nil && sink.room(most: 10) != nil)
        }
    }

    // MARK: Once more

    /// A download that goes on in a file which is gone.
    private static func gone(_ folder: TemporaryDirectory) -> BodyDestination {
        .file(.existing(path: folder.file("gone").path, offset: 5))
    }

    // RES-5
    @Test("a body that begins anew has nothing of the one before") func restarts() async throws {
        let file = try FileSink(Self.gone)
        try await file.run { sink in
            sink.receive(String(repeating: "a", count: 256 * 1024))
            _ = sink.closeFile()
            #expect(!sink.isFlowing)
        }
        try await file.stepped.settle()
        #expect(try await file.events() == ["flow", "written 262144", "room", "not opened"])
        let folder = file.folder.path
        try await file.run { sink in
            sink.restart(.file(.newFile(inFolder: folder)))
            #expect(sink.isFlowing && sink.deliveredBytes == 0 && sink.writer == nil)
            sink.open()
            sink.receive("whole")
            #expect(sink.deliveredBytes == 5)
            _ = sink.closeFile()
        }
        try await file.stepped.settle()
        #expect(try await file.events().dropFirst(4) == ["written 5", "room", "closed"])
        #expect(try await file.content() == "whole")
    }

    // RES-5: what was still ordered of a file that is given up would be counted as part of the next
    @Test("a file that has failed reports no more") func oldFile() async throws {
        let file = try FileSink(Self.gone)
        let owner = file.owner
        try await file.run { sink in
            // The next bytes come while the first are reported, as when the flow goes on.
            owner.onRoom = { sink.receive("more") }
            sink.receive("one")
        }
        try await file.stepped.settle()
        #expect(try await file.events() == ["written 3", "room", "not opened"])
    }
}

/// A sink that writes to a file, on a loop that says when it is at rest.
private final class FileSink: Sendable {
    let stepped: SteppedLoop
    let folder: TemporaryDirectory
    let owner = Owner()
    private let sink: LoopBox<BodySink>

    init(
        _ destination: (TemporaryDirectory) -> BodyDestination = { .file(.newFile(inFolder: $0.path)) }
    ) throws {
        stepped = try SteppedLoop()
        folder = try TemporaryDirectory()
        // Nothing runs on the loop yet.
        let sink = BodySink(destination(folder), on: stepped.loop)
        sink.owner = owner
        sink.open()
        self.sink = LoopBox(sink, on: stepped.loop)
    }

    func run<Value: Sendable>(_ body: @escaping @Sendable (BodySink) -> Value) async throws -> Value {
        let sink = sink
        return try await stepped.run { body(sink.value) }
    }

    func events() async throws -> [String] {
        let owner = owner
        return try await stepped.run { owner.events }
    }

    /// Of the closed file.
    func content() async throws -> String? {
        let owner = owner
        let path = try #require(try await stepped.run { owner.outcome.flatMap { try? $0.get() } })
        return try String(contentsOfFile: path, encoding: .utf8)
    }
}

// MARK: - The owner

/// Takes what the sink gives, and says whether it wants more. Confined to the loop, but for what it records.
private final class Owner: BodySinkOwner, @unchecked Sendable {
    // Sendable because what is mutable is touched on the loop only.

    var mayDeliverBody = true
    /// How many pieces it takes before it has enough.
    var takes = Int.max
    /// Whether it has to think about each part.
    var answersLater = false
    var events: [String] = []
    var failure: LoadError?
    /// What became of the file.
    var outcome: Result<String, FileWriter.Failure>?
    /// What is done when there is room again, once.
    var onRoom: (() -> Void)?
    let closed = EventRecorder<String>()

    var wantedParts: WantedParts { .every }

    func applyFlow() { events.append("flow") }
    func resumeReading() {
        events.append("room")
        let react = onRoom
        onRoom = nil
        react?()
    }
    func bodySink(delivers data: Data) -> Bool {
        events.append(String(decoding: data, as: UTF8.self))
        takes -= 1
        return takes > 0
    }
    func bodySinkHasCollected(_ total: Int64) { events.append("collected \(total)") }
    func bodySinkHasWritten(_ count: Int64) { events.append("written \(count)") }
    func bodySink(begins part: LoadResponse) -> ClientAnswer<Void> {
        events.append("part \(part.head.fields.firstValue("A") ?? "")")
        guard answersLater else { return .now }
        mayDeliverBody = false
        return .later
    }
    func cancel(_ error: LoadError) {
        failure = error
        mayDeliverBody = false
    }
    func bodySinkClosedFile(_ outcome: Result<String, FileWriter.Failure>) {
        self.outcome = outcome
        switch outcome {
        case .success(let path):
            events.append("closed")
            closed.record(path)
        case .failure(.opening): events.append("not opened")
        case .failure(let failure): events.append("\(failure)")
        }
    }
}

private let url: HTTPURL = {
    do { return try HTTPURL("http://example.com/") } catch { preconditionFailure("the address is one of HTTP") }
}()

private func opened(_ destination: BodyDestination, _ loop: EventLoop) -> (BodySink, Owner) {
    let sink = BodySink(destination, on: loop)
    let owner = Owner()
    sink.owner = owner
    sink.open()
    return (sink, owner)
}

/// Has the sink begin a body with one field in its head.
@discardableResult
private func begin(_ sink: BodySink, _ name: String, _ value: String) -> ResponseHead {
    let head = ResponseHead(status: 200, version: .http11, fields: HTTPFields([(name, value)]), byteCount: 0)
    #expect(throws: Never.self) { try sink.decoding.begin(head, body: .unknown) }
    return head
}

extension BodySink {
    fileprivate func receive(_ text: String) { Array(text.utf8).withUnsafeBytes { receive($0) } }
}

private let loop = EventLoops.assign()

/// Runs what is to be tried on the loop's thread, always of the same loop.
private func onLoop<Value: Sendable>(_ body: @escaping @Sendable (EventLoop) -> Value) async -> Value {
    await withCheckedContinuation { done in loop.post { done.resume(returning: body(loop)) } }
}
