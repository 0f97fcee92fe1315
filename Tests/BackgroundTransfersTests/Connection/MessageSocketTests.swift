import BackgroundTransfers
import Foundation
import Glibc
import LoadingPipeline
import LoadingSemantics
import LoadingTestSupport
import LoadingTransport
import TestSupport
import Testing

/// A message socket, and the other end of its connection in a test's hands.
private final class SocketScene: @unchecked Sendable {
    // Sendable because `socket` is used on the loop only.

    typealias Socket = MessageSocket<ServiceCommand, ServiceNotice>

    enum Event: Equatable {
        case received([ServiceCommand])
        case ended(MessageSocketEnd)
        case drained
    }

    let stepped: SteppedLoop
    let peer: Int32
    let events = EventRecorder<Event>()
    private var socket: Socket?

    init(backlog: Int = 16 << 20) async throws {
        stepped = try SteppedLoop()
        var ends: [Int32] = [0, 0]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0 else {
            throw TestSupport.POSIXFailure("socketpair")
        }
        peer = ends[1]
        let own = ends[0]
        let (loop, events) = (stepped.loop, events)
        try await stepped.run {
            let socket = Socket(
                own, on: loop, largestBacklog: backlog, receive: { events.record(.received($0)) },
                ended: { events.record(.ended($0)) })
            socket.drained = { events.record(.drained) }
            self.socket = socket
        }
    }

    func end() async throws {
        try await use { $0.close() }
        close(peer)
        try await stepped.settle()
    }

    @discardableResult
    func use<Result: Sendable>(_ body: @escaping @Sendable (Socket) -> Result) async throws -> Result {
        try await stepped.run {
            // Set by `init`.
            body(self.socket!)
        }
    }

    func send(_ bytes: Data) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                Glibc.send(peer, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }

    static func frame(_ command: ServiceCommand) throws -> Data {
        var frame = Data()
        MessageFrames.append(try TransferMessage(command).encoded(), to: &frame)
        return frame
    }

    static func frame(_ text: String) -> Data {
        var frame = Data()
        MessageFrames.append(Data(text.utf8), to: &frame)
        return frame
    }
}

@Suite(.leakChecked) struct MessageSocketTests {
    // BG-5
    @Test("messages of one turn come together, in order") func together() async throws {
        let scene = try await SocketScene()
        let commands = (1...100).map { ServiceCommand.resume(task: $0) }
        scene.send(try commands.map { try SocketScene.frame($0) }.reduce(Data(), +))
        try await scene.events.wait(for: .received(commands))
        try await scene.end()
        #expect(scene.events.events == [.received(commands)])
    }

    // BG-5
    @Test("both directions carry large messages") func largeMessages() async throws {
        let scene = try await SocketScene()
        let text = String(repeating: "x", count: 3 << 20)
        scene.send(try SocketScene.frame(.setTaskDescription(task: 1, text)))
        try await scene.events.wait(for: .received([.setTaskDescription(task: 1, text)]))
        let isSent = try await scene.use { $0.send(.refused(.journal(text))) }
        #expect(isSent)
        var frames = MessageFrames()
        var content: Data?
        while content == nil {
            let bytes = [UInt8](unsafeUninitializedCapacity: 1 << 16) { buffer, count in
                count = max(0, read(scene.peer, buffer.baseAddress, buffer.count))
            }
            try #require(!bytes.isEmpty)
            bytes.withUnsafeBytes { frames.append($0) }
            content = try frames.next()
        }
        let message = try TransferMessage<ServiceNotice>(decoding: try #require(content))
        #expect(message.content == .refused(.journal(text)))
        try await scene.end()
    }

    /// What ends a connection, after a good message that arrives.
    private func checkEnd(_ bytes: Data, _ end: MessageSocketEnd) async throws {
        let scene = try await SocketScene()
        scene.send(try SocketScene.frame(.list) + bytes)
        if end == .closed { shutdown(scene.peer, Int32(SHUT_WR)) }
        try await scene.events.wait(for: .ended(end))
        #expect(scene.events.events == [.received([.list]), .ended(end)])
        try await scene.end()
    }

    // BG-5
    @Test("hostile bytes end the connection") func hostileBytes() async throws {
        try await checkEnd(Data([0xFF, 0xFF, 0xFF, 0xFF]), .tooLong)
        try await checkEnd(Data([1, 0, 64, 0]), .tooLong)
        try await checkEnd(SocketScene.frame(""), .malformed)
        try await checkEnd(SocketScene.frame("{}"), .malformed)
        try await checkEnd(SocketScene.frame(#"{"version":1,"content":{"unknown":{}}}"#), .malformed)
        try await checkEnd(SocketScene.frame(String(repeating: "[", count: 1 << 20)), .malformed)
        try await checkEnd(SocketScene.frame(#"{"version":2,"content":{}}"#), .unknownVersion(2))
        try await checkEnd(Data(), .closed)
        try await checkEnd(try SocketScene.frame(.watch).dropLast(), .closed)
    }

    // BG-5
    @Test("an endless message is refused before it is received") func endless() async throws {
        let scene = try await SocketScene()
        var head = Data()
        MessageFrames.append(Data(count: ServiceProtocol.largestMessage), to: &head)
        // Announced as one byte more than the limit.
        head.replaceSubrange(
            0..<4, with: withUnsafeBytes(of: UInt32(ServiceProtocol.largestMessage + 1).littleEndian) { Data($0) })
        scene.send(head.prefix(4))
        try await scene.events.wait(for: .ended(.tooLong))
        try await scene.end()
    }

    // BG-5
    @Test("a message that is too long is not sent") func tooLong() async throws {
        let scene = try await SocketScene()
        let text = String(repeating: "x", count: ServiceProtocol.largestMessage)
        let isSent = try await scene.use { $0.send([.listed, .refused(.journal(text))]) }
        #expect(!isSent)
        let queued = try await scene.use { $0.queuedBytes }
        #expect(queued == 0)
        try await scene.end()
        #expect(scene.events.events.isEmpty)
    }

    // BG-5
    @Test("a peer that does not read is given up") func backlog() async throws {
        let scene = try await SocketScene(backlog: 4 << 20)
        let text = String(repeating: "x", count: 1 << 20)
        for _ in 0..<16 { try await scene.use { $0.send(.refused(.journal(text))) } }
        try await scene.events.wait(for: .ended(.backlog))
        let queued = try await scene.use { $0.queuedBytes }
        #expect(queued == 0)
        try await scene.end()
        // The kernel takes some of it first.
        #expect(scene.events.events.filter { $0 != .drained } == [.ended(.backlog)])
    }

    // BG-5, BG-19: the list of ten thousand tasks
    @Test("a state of any length, with what follows it, waits for a peer that reads") func longState() async throws {
        let scene = try await SocketScene(backlog: 1 << 20)
        let text = String(repeating: "x", count: 1 << 20)
        try await scene.use { socket in
            socket.send((0..<8).map { _ in .refused(.journal(text)) }, isState: true)
            for number in 0..<3 { socket.send(.committed(UInt64(number))) }
        }
        var frames = MessageFrames()
        var received: [ServiceNotice] = []
        while received.count < 11 {
            let bytes = [UInt8](unsafeUninitializedCapacity: 1 << 16) { buffer, count in
                count = max(0, read(scene.peer, buffer.baseAddress, buffer.count))
            }
            try #require(!bytes.isEmpty)
            bytes.withUnsafeBytes { frames.append($0) }
            while let content = try frames.next() {
                received.append(try TransferMessage<ServiceNotice>(decoding: content).content)
            }
        }
        #expect(received == (0..<8).map { _ in .refused(.journal(text)) } + (0..<3).map { .committed(UInt64($0)) })
        // The usual limit is back.
        for _ in 0..<8 { try await scene.use { $0.send(.refused(.journal(text))) } }
        try await scene.events.wait(for: .ended(.backlog))
        try await scene.end()
    }

    // BG-5: a command of some bytes asks for megabytes
    @Test("a peer that asks for its state again, and reads nothing") func unreadStates() async throws {
        let scene = try await SocketScene(backlog: 1 << 20)
        let text = String(repeating: "x", count: 1 << 20)
        for _ in 0..<2 {
            try await scene.use { $0.send((0..<8).map { _ in .refused(.journal(text)) }, isState: true) }
        }
        try await scene.events.wait(for: .ended(.backlog))
        try await scene.end()
    }

    // BG-5
    @Test("a queue that drains is reported") func drains() async throws {
        let scene = try await SocketScene()
        let text = String(repeating: "x", count: 3 << 20)
        try await scene.use { $0.send(.refused(.journal(text))) }
        #expect(scene.events.events.isEmpty)
        var received = 0
        while received < 2 << 20 {
            let count = [UInt8](unsafeUninitializedCapacity: 1 << 16) { buffer, count in
                count = max(0, read(scene.peer, buffer.baseAddress, buffer.count))
            }.count
            try #require(count > 0)
            received += count
        }
        try await scene.events.wait(for: .drained)
        try await scene.end()
    }

    // BG-5
    @Test("what the peer has sent before it closed is received, even if sending fails") func closedPeer() async throws {
        let scene = try await SocketScene()
        let (frame, peer) = (try SocketScene.frame(.list), scene.peer)
        // In one turn of the loop, which has not read it then.
        try await scene.use {
            _ = frame.withUnsafeBytes { write(peer, $0.baseAddress, $0.count) }
            shutdown(peer, Int32(SHUT_RDWR))
            $0.send(.listed)
        }
        try await scene.events.wait(for: .ended(.closed))
        #expect(scene.events.events == [.received([.list]), .ended(.closed)])
        try await scene.end()
    }

    // BG-5
    @Test("a connection that ends sends its last message") func closeWhenSent() async throws {
        let scene = try await SocketScene()
        try await scene.use {
            $0.send(.refused(.sessionInUse))
            $0.closeWhenSent()
        }
        try await scene.events.wait(for: .ended(.closed))
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = read(scene.peer, &bytes, bytes.count)
        #expect(count > MessageFrames.headLength)
        #expect(read(scene.peer, &bytes, bytes.count) == 0)
        try await scene.end()
    }

    // BG-5: the kernel takes only a part of it
    @Test("a connection that ends does not wait for ever for a peer that does not read") func unreadEnd() async throws {
        let scene = try await SocketScene()
        let text = String(repeating: "x", count: 3 << 20)
        try await scene.use {
            $0.send(.refused(.journal(text)))
            $0.closeWhenSent()
        }
        try await scene.stepped.settle()
        #expect(scene.events.events.isEmpty)
        try await scene.stepped.step(by: scene.stepped.limits.lingeringClose)
        try await scene.events.wait(for: .ended(.backlog))
        try await scene.end()
        #expect(scene.events.events == [.ended(.backlog)])
    }

    // BG-5: the kernel reports the peer's user
    @Test("the user of a peer") func peer() async throws {
        let scene = try await SocketScene()
        #expect(SocketPeer.userID(of: scene.peer) == geteuid())
        #expect(SocketPeer.userID(of: 0) == nil)
        try await scene.end()
    }
}
