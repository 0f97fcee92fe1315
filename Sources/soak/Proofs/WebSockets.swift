import Foundation
import URLLoading

/// Thousands of WebSockets in one process: the memory of each, the time to open them, and what is left of those that
/// end in every way.
enum WebSockets {
    /// The heap that one connection may have while it waits for a message.
    private static let mostPerConnection = 16 * 1024
    /// The heap that may be left when all have ended, however many there were.
    private static let mostLeft = 300_000
    private static let limit = 300

    static func run(_ options: Options) throws -> Bool {
        let count = options.connections
        let torn = max(1, count / 10)
        let available = DescriptorLimit.raise()
        guard available > count + torn + 100 else {
            say("WebSockets: \(count) connections need more than the \(available) descriptors that a process may have")
            return false
        }
        let server = try WebSocketServerProcess()
        defer { server.stop() }
        Watchdog.start(limit: limit)
        say("WebSockets: \(count) connections, seed \(options.seed)")
        let crowd = Crowd(port: server.port)
        crowd.warmUp()
        Allocator.trim()
        let idle = ProcessState.current

        var faults: [String] = []
        func expect(_ isTrue: Bool, _ fault: String) { if !isTrue { faults.append(fault) } }

        var begin = DispatchTime.now()
        var members = crowd.open(count)
        say(String(format: "  open after %.2f s", seconds(since: begin)))
        begin = DispatchTime.now()
        faults += crowd.echo(members)
        say(String(format: "  a message there and back on each after %.2f s more", seconds(since: begin)))
        Allocator.trim()
        var open = ProcessState.current
        let resident = (open.resident - idle.resident) / count
        say("  \(resident) bytes of resident memory a connection")
        if let before = idle.heapInUse, let after = open.heapInUse {
            say("  \((after - before) / count) bytes of heap a connection (at most \(mostPerConnection))")
            expect((after - before) / count <= mostPerConnection, "a connection costs too much memory")
        }
        expect(open.descriptors.count - idle.descriptors.count == count, "other descriptors than connections")
        // Thousands of names would count as memory that is left.
        open.descriptors = []

        var random = SeededGenerator(seed: options.seed)
        members.shuffle(using: &random)
        crowd.tear(members.prefix(torn), torn, &random)
        faults += crowd.faults(of: members.prefix(torn))
        members.removeFirst(torn)
        let after = waitForDescriptors(idle.descriptors.count + members.count)
        expect(
            after == idle.descriptors.count + members.count,
            "\(after - idle.descriptors.count) descriptors for \(members.count) connections")
        faults += crowd.echo(members)
        say("  \(2 * torn) ended in every way, and the others go on")

        crowd.end(members)
        faults += crowd.faults(of: members[...])
        members = []
        crowd.invalidate()
        let last = waitForDescriptors(idle.descriptors.count)
        Allocator.trim()
        let left = ProcessState.current
        expect(last <= idle.descriptors.count, "\(last - idle.descriptors.count) descriptors are left")
        expect(left.threads.count <= idle.threads.count + 1, "threads are left: \(left.threads)")
        say(
            "  resident memory: \(idle.resident / 1024) KB before, \(open.resident / 1024) KB open, "
                + "\(left.resident / 1024) KB after")
        if let before = idle.heapInUse, let after = left.heapInUse {
            say("  heap: \(before / 1024) KB before, \(after / 1024) KB after")
            expect(after - before < mostLeft, "\(after - before) bytes of heap are left")
        }
        for fault in faults.prefix(20) { say("  FOUND: \(fault)") }
        say("WebSockets: \(faults.isEmpty ? "nothing was found." : "FOUND \(faults.count)")")
        return faults.isEmpty
    }

    private static func seconds(since begin: DispatchTime) -> Double {
        Double(DispatchTime.now().uptimeNanoseconds - begin.uptimeNanoseconds) / 1e9
    }

    /// Polls, because there are no events for closed descriptors. Returns their number.
    private static func waitForDescriptors(_ wanted: Int) -> Int {
        for _ in 0..<1000 {
            let count = ProcessState.current.descriptors.count
            if count <= wanted { return count }
            usleep(10_000)
        }
        return ProcessState.current.descriptors.count
    }
}

/// The server in its own process, so that the resources of the other process are the client's alone.
private final class WebSocketServerProcess {
    let port: Int
    private let child: ChildProcess

    struct NoPort: Error {}

    init() throws {
        child = try ChildProcess(["--serve-websockets"], readsOutput: true)
        guard let port = Int(child.readLine()) else { throw NoPort() }
        self.port = port
    }

    func stop() {
        child.endInput()
        _ = child.wait()
    }
}

/// A task, and how often it and its operations have ended.
private final class Member: @unchecked Sendable {
    // Sendable because the mutable state is guarded by `lock`.
    let task: URLSessionWebSocketTask
    private let lock = NSLock()
    private var ends = 0
    private var begun = 0
    private var done = 0

    init(_ task: URLSessionWebSocketTask) { self.task = task }

    func end() { lock.withLock { ends += 1 } }

    /// A handler for an operation, which must be called once.
    func operation<Result>(
        _ body: @escaping @Sendable (Result) -> Void = { _ in }
    ) -> @Sendable (Result) -> Void {
        lock.withLock { begun += 1 }
        return { [self] result in
            lock.withLock { done += 1 }
            body(result)
        }
    }

    var fault: String? {
        lock.withLock {
            ends == 1 && done == begun ? nil : "\(ends) ends, and \(done) results of \(begun) operations"
        }
    }
}

/// All tasks of one session.
private final class Crowd: NSObject, URLSessionWebSocketDelegate, @unchecked Sendable {
    // Sendable because `members` is guarded by `lock`, and `session` is set before anything else happens.
    private let url: URL
    private let lock = NSLock()
    private var members: [Int: Member] = [:]
    private var session: URLSession?
    private var opened = Counter()
    private var ended = Counter()
    private let invalid = DispatchSemaphore(value: 0)
    private var openCount = 0
    private var endCount = 0

    init(port: Int) {
        url = URL(string: "ws://127.0.0.1:\(port)/") ?? URL(fileURLWithPath: "/")
        super.init()
        session = URLSession(configuration: .ephemeral, delegate: self, delegateQueue: nil)
    }

    func urlSession(
        _ session: URLSession, webSocketTask: URLSessionWebSocketTask, didOpenWithProtocol protocol: String?
    ) {
        opened.add(isFailure: false)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        lock.withLock { members.removeValue(forKey: task.taskIdentifier) }?.end()
        ended.add(isFailure: false)
    }

    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) { invalid.signal() }

    private func make() -> Member? {
        guard let task = session?.webSocketTask(with: url) else { return nil }
        let member = Member(task)
        lock.withLock { members[task.taskIdentifier] = member }
        return member
    }

    func open(_ count: Int) -> [Member] {
        let members = (0..<count).compactMap { _ in make() }
        for member in members { member.task.resume() }
        openCount += count
        opened.wait(for: openCount)
        return members
    }

    /// A message there and back on each.
    func echo(_ members: [Member]) -> [String] {
        let answers = Counter()
        for member in members {
            member.task.send(.string("hello"), completionHandler: member.operation())
            member.task.receive(
                completionHandler: member.operation { result in
                    if case .success(.string("hello")) = result {
                        answers.add(isFailure: false)
                    } else {
                        answers.add(isFailure: true)
                    }
                })
        }
        answers.wait(for: members.count)
        return answers.failures == 0 ? [] : ["\(answers.failures) messages did not come back"]
    }

    /// Allocates everything that is allocated only once.
    func warmUp() {
        let members = open(10)
        _ = echo(members)
        end(members)
    }

    /// Ends each in a way of its own, and as many new ones within their handshakes.
    func tear(_ members: ArraySlice<Member>, _ others: Int, _ random: inout SeededGenerator) {
        for member in members {
            // Each waiting operation gets one result.
            if random.chance(50) { member.task.receive(completionHandler: member.operation()) }
            if random.chance(30) { member.task.sendPing(pongReceiveHandler: member.operation()) }
            switch random.number(0...7) {
            case 0: member.task.cancel()
            case 1: member.task.cancel(with: .goingAway, reason: Data("enough".utf8))
            case 2:
                // Cancelled while a long message is on its way.
                member.task.send(.data(Data(count: 1 << 20)), completionHandler: member.operation())
                member.task.cancel()
            case 3:
                member.task.cancel(with: .normalClosure, reason: nil)
                member.task.cancel()
            default:
                // The server ends it.
                let command = random.pick(WebSocketServer.Command.allCases)
                member.task.receive(completionHandler: member.operation())
                member.task.send(.string(command.rawValue), completionHandler: member.operation())
            }
        }
        for _ in 0..<others {
            guard let member = make() else { continue }
            member.task.resume()
            usleep(UInt32(random.number(0...300)))
            member.task.cancel()
        }
        endCount += members.count + others
        ended.wait(for: endCount)
    }

    /// Ends all, with and without a closing handshake.
    func end(_ members: [Member]) {
        for (index, member) in members.enumerated() {
            if index % 2 == 0 { member.task.cancel() } else { member.task.cancel(with: .normalClosure, reason: nil) }
        }
        endCount += members.count
        ended.wait(for: endCount)
    }

    /// Waits for the results that come after the ends.
    func faults(of members: ArraySlice<Member>) -> [String] {
        for _ in 0..<500 where members.contains(where: { $0.fault != nil }) { usleep(10_000) }
        return members.compactMap(\.fault)
    }

    func invalidate() {
        session?.finishTasksAndInvalidate()
        invalid.wait()
        session = nil
        lock.withLock { members = [:] }
    }
}
