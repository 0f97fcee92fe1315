import Foundation
import LoadingEvents
import LoadingProtocols
import LoadingSemantics
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
            #expect(owner.told == ["hello ", "world"] && sink.deliveredBytes == 11 && sink.isDelivered)
        }
    }

    @Test("a body that is wanted whole is collected") func whole() async {
        await onLoop { loop in
            let (sink, owner) = opened(.whole, loop)
            sink.receive("hello ")
            sink.receive("world")
            #expect(owner.told == ["collected 6", "collected 11"])
            #expect(sink.takeCollected() == Data("hello world".utf8))
            #expect(sink.takeCollected() == nil)
        }
    }

    // S-24
    @Test("a client that has enough gets nothing until it wants more") func full() async {
        await onLoop { loop in
            let (sink, owner) = opened(.pieces, loop)
            owner.takes = 1
            sink.receive("one")
            #expect(!sink.isFlowing)
            sink.receive("two")
            sink.receive("three")
            #expect(owner.told == ["one", "flow"] && sink.backlogCount == 8 && !sink.isDelivered)
            owner.takes = 1
            let hadEnough = sink.resumeReading()
            let again = sink.resumeReading()
            #expect(hadEnough && !again)
            sink.deliverBacklog()
            #expect(owner.told == ["one", "flow", "twothree", "flow"] && sink.isDelivered)
        }
    }

    // T-2
    @Test("nothing goes through that the owner holds up, and there is no memory to read into") func held() async {
        await onLoop { loop in
            let (sink, owner) = opened(.pieces, loop)
            owner.letsBodyThrough = false
            sink.receive("early")
            #expect(owner.told == [] && sink.room(most: 10) == nil && sink.pipe == nil)
            owner.letsBodyThrough = true
            // What was put by comes first.
            #expect(sink.room(most: 10) == nil)
            sink.deliverBacklog()
            #expect(owner.told == ["early"] && sink.room(most: 10)?.count == 10)
        }
    }

    @Test("what was read into the sink's memory before the flow stopped is put by") func filled() async {
        await onLoop { loop in
            let (sink, owner) = opened(.pieces, loop)
            sink.room(most: 3)?.copyBytes(from: Array("abc".utf8))
            owner.letsBodyThrough = false
            sink.filled(3)
            #expect(owner.told == [] && sink.backlogCount == 3)
            owner.letsBodyThrough = true
            sink.deliverBacklog()
            #expect(owner.told == ["abc"])
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
    @Test("parts are told as responses, and the rest waits while the client thinks") func parts() async throws {
        await onLoop { loop in
            let (sink, owner) = opened(.pieces, loop)
            let head = begin(sink, "Content-Type", "multipart/x-mixed-replace; boundary=cut")
            sink.parts = MultipartStage(LoadResponse(url: url, head: head, expectedLength: -1))
            owner.answersLater = true
            sink.receive("--cut\r\nA: 1\r\n\r\none\r\n--cut\r\nA: 2\r\n\r\ntwo\r\n--cut--\r\n")
            #expect(owner.told == ["part 1"])
            for _ in 0..<2 {
                owner.letsBodyThrough = true
                sink.deliverBacklog()
            }
            #expect(owner.told == ["part 1", "one", "part 2", "two"] && sink.isDelivered)
            #expect((try? sink.finishParts(endsWithConnection: true)) == .told)
        }
    }

    @Test("a body that was to have parts and has none") func noParts() async throws {
        await onLoop { loop in
            let (sink, _) = opened(.pieces, loop)
            let head = begin(sink, "Content-Type", "multipart/x-mixed-replace; boundary=cut")
            sink.parts = MultipartStage(LoadResponse(url: url, head: head, expectedLength: -1))
            #expect((try? sink.finishParts(endsWithConnection: true)) == BodySink.PartsEnd.none)
        }
    }

    // RES-1: what has come is in the file when the load fails
    @Test("a file is closed after a failure, and its owner hears of it") func file() async throws {
        let folder = try TemporaryDirectory()
        let owner = Owner()
        let sink = await onLoop { loop in
            let sink = BodySink(.file(.newFile(inFolder: folder.path)), on: loop)
            sink.owner = owner
            sink.open()
            sink.receive("half")
            owner.letsBodyThrough = false
            sink.giveUpFile()
            return LoopBox(sink)
        }
        let path = try #require(await owner.closed.waitFor(count: 1).first)
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "half")
        await onLoop { _ in #expect(sink.value.writer == nil) }
    }
}

// MARK: - The owner

/// Takes what the sink gives, and says whether it wants more. Confined to the loop, but for what it records.
private final class Owner: BodySinkOwner, @unchecked Sendable {
    // Sendable because what is mutable is touched on the loop only.

    var letsBodyThrough = true
    /// How many pieces it takes before it has enough.
    var takes = Int.max
    /// Whether it has to think about each part.
    var answersLater = false
    var told: [String] = []
    var failure: LoadError?
    let closed = EventRecorder<String>()

    var wantedParts: WantedParts { .every }

    func bodySinkChangedFlow() { told.append("flow") }
    func bodySinkHasRoom() {}
    func bodySink(delivers data: Data) -> Bool {
        told.append(String(decoding: data, as: UTF8.self))
        takes -= 1
        return takes > 0
    }
    func bodySinkHasCollected(_ total: Int64) { told.append("collected \(total)") }
    func bodySinkHasWritten(_ count: Int64) {}
    func bodySink(begins part: LoadResponse) -> ClientAnswer<Void> {
        told.append("part \(part.head.fields.firstValue("A") ?? "")")
        guard answersLater else { return .now }
        letsBodyThrough = false
        return .later
    }
    func bodySinkFailed(_ error: LoadError) {
        failure = error
        letsBodyThrough = false
    }
    func bodySinkClosedFile(_ outcome: Result<String, FileWriter.Failure>) {
        if case .success(let path) = outcome { closed.record(path) }
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
