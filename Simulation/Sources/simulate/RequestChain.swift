import CSimulation
import Foundation
import URLLoading

/// Requests of which each begins when the one before has ended, so that they use kept connections and stored responses,
/// and the library is about to rest when the next one begins.
final class RequestChain: @unchecked Sendable {
    // Sendable because a link begins only when the one before has ended.
    private let tasks: ExpectedTasks
    private let session: URLSession
    private let hosts: [World.Host]
    private let choices: Choices
    private let isAlone: Bool
    /// Whether the next one begins in the callback of the end of one, and not on the thread that waits for it.
    private let isNested: Bool
    private var numbers: ArraySlice<Int>
    private let end = DispatchSemaphore(value: 0)

    /// - Parameters:
    ///   - isAlone: No other request is under way, and nothing is wrong in the world.
    ///   - first: The number of the first request.
    init(of tasks: ExpectedTasks, _ session: URLSession, to hosts: [World.Host], isAlone: Bool, first: Int = 2000) {
        (self.tasks, self.session, self.isAlone) = (tasks, session, isAlone)
        choices = Choices(first == 2000 ? "chain" : "chain from \(first)")
        let present = hosts.filter { $0.server != nil }
        self.hosts = choices.oneIn(2) ? present : Array(present.prefix(1))
        isNested = choices.oneIn(2)
        // Not those of other tasks.
        let numbers = (first..<first + 1 + choices.below(16)).filter { Parts.has("link \($0)") }
        self.numbers = present.isEmpty ? [] : numbers[...]
    }

    /// Returns at the end of the last one.
    func run() {
        while let number = numbers.popFirst() {
            start(number)
            end.wait()
        }
    }

    private func start(_ number: Int) {
        // Not in the callback of a task's end: other callbacks would wait, and responses for them.
        if choices.oneIn(3), !isNested { usleep(UInt32(choices.below(choices.oneIn(4) ? 12_000_000 : 500_000))) }
        let host = choices.pick(hosts), size = choices.size(upTo: 20_000)
        let http3Choices = Choices("link \(number) in HTTP/3")
        let isSecure = choices.oneIn(3) || host.offersHTTP3 && !http3Choices.oneIn(4)
        let scheme = isSecure ? "https" : "http"
        // Long enough for QUIC to have nothing under way, and for some paths to lose what comes then.
        if host.offersHTTP3, http3Choices.oneIn(3), !isNested {
            usleep(UInt32(2_000_000 + http3Choices.below(4_000_000)))
        }
        func url(_ path: String) -> URL {
            // The host and the path have no character that a URL cannot have.
            URL(string: "\(scheme)://\(host.name)/\(path)")!
        }
        var request: URLRequest
        var expectation = ExpectedTasks.Expectation.content(number, size: size)
        let kind = choices.below(6)
        switch kind {
        case 0:
            request = URLRequest(url: url("post/\(number)"))
            request.httpMethod = "POST"
            request.httpBody = Data(Content.bytes(number, 0..<size))
            expectation = .post(number, size: size)
        case 1, 2:
            // The same few resources as those of other tasks.
            let resource = 990 + choices.below(3)
            request = URLRequest(url: url("cached/\(resource)/\(resource * 3)"))
            expectation = .cached(resource, size: resource * 3)
        case 3:
            // Each is delivered while the library is about to rest after the one before.
            request = URLRequest(url: url("content/\(number)/\(size)"))
            expectation = .cancellation
            for index in 0..<choices.below(6) { cancelUnstarted(10 * number + index, request) }
        default:
            let path = isAlone ? "alone/\(simulation_now() / 1_000_000)" : "content"
            request = URLRequest(url: url("\(path)/\(number)/\(size)"))
        }
        request.assumesHTTP3Capable = http3Choices.oneIn(host.offersHTTP3 ? 2 : 16)
        tasks.expect(number, .init(expectation: expectation, mayFail: !host.isFaultless))
        let task = session.dataTask(with: request) { [self] data, response, error in
            tasks.finish(number, response, error) { $0.data = data ?? Data() }
            if isNested, let next = numbers.popFirst() { start(next) } else { end.signal() }
        }
        task.taskDescription = "\(number)"
        if case .cancellation = expectation { tasks.cancel(number) { task.cancel() } } else { task.resume() }
    }

    private func cancelUnstarted(_ number: Int, _ request: URLRequest) {
        tasks.expect(number, .init(expectation: .cancellation))
        let task = session.dataTask(with: request) { [tasks] data, response, error in
            tasks.finish(number, response, error) { $0.data = data ?? Data() }
        }
        task.taskDescription = "\(number)"
        tasks.cancel(number) { task.cancel() }
        if choices.oneIn(2) { usleep(UInt32(choices.below(200))) }
    }
}
