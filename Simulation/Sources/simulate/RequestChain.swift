import CSimulation
import Foundation
import URLLoading

/// Requests to one host of which each begins when the one before has ended, so that they use kept connections and stored responses, and the
/// library is about to rest when the next one begins.
final class RequestChain: @unchecked Sendable {
    // Sendable because a link begins only when the one before has ended.
    private let work: Work
    private let session: URLSession
    private let host: World.Host
    private let choices: Choices
    private let isAlone: Bool
    private var numbers: ArraySlice<Int>
    private let end = DispatchSemaphore(value: 0)

    /// - Parameter isAlone: No other request is under way, and nothing is wrong in the world.
    init?(of work: Work, _ session: URLSession, to host: World.Host, isAlone: Bool) {
        guard host.server != nil else { return nil }
        (self.work, self.session, self.host, self.isAlone) = (work, session, host, isAlone)
        choices = Choices("chain")
        // Not those of other tasks.
        numbers = (2000..<2001 + choices.below(16)).filter { Parts.has("link \($0)") }[...]
    }

    /// Returns at the end of the last one.
    func run() {
        startNext()
        end.wait()
    }

    private func startNext() {
        guard let number = numbers.popFirst() else {
            end.signal()
            return
        }
        if choices.oneIn(3) { usleep(UInt32(choices.below(choices.oneIn(4) ? 12_000_000 : 500_000))) }
        let size = choices.size(upTo: 20_000), scheme = choices.oneIn(3) ? "https" : "http"
        func url(_ path: String) -> URL {
            // The host and the path have no character that a URL cannot have.
            URL(string: "\(scheme)://\(host.name)/\(path)")!
        }
        var request: URLRequest
        var expectation = Work.Expectation.content(number, size: size)
        switch choices.below(4) {
        case 0:
            request = URLRequest(url: url("post/\(number)"))
            request.httpMethod = "POST"
            request.httpBody = Data(Content.bytes(number, 0..<size))
            expectation = .post(number, size: size)
        case 1:
            // The same few resources as those of other tasks.
            let resource = 990 + choices.below(3)
            request = URLRequest(url: url("cached/\(resource)/\(resource * 3)"))
            expectation = .cached(resource, size: resource * 3)
        default:
            let path = isAlone ? "alone/\(simulation_now() / 1_000_000)" : "content"
            request = URLRequest(url: url("\(path)/\(number)/\(size)"))
        }
        work.expect(expectation, number, mayFail: !host.isFaultless)
        let task = session.dataTask(with: request) { [self] data, response, error in
            work.finish(number, response, error) { $0.data = data ?? Data() }
            startNext()
        }
        task.taskDescription = "\(number)"
        task.resume()
    }
}
