import CSimulation
import Foundation
import URLLoading

/// Requests to a host that is often silent, and to one that is never reached: if there is no response, they end with a
/// timeout, neither before its time nor much later.
///
/// Nothing else is under way, so that nothing but the timer of a request wakes the library.
struct UnansweredRequests {
    private static let silentName = "silent.example"
    /// What is sent there is lost.
    private static let lostAddress: simulation_address = 0x0A00_0403

    private let tasks: ExpectedTasks
    private let session: URLSession
    private let choices: Choices
    private let mayBeSlow: Bool
    /// The same for all, so that connections are kept for the next request.
    private let scheme: String

    /// Nil in most worlds.
    init?(of tasks: ExpectedTasks, in world: World) {
        choices = Choices("unanswered requests")
        guard choices.oneIn(4), world.proxy == nil, world.networkChanges == nil, !world.disk.disturbsEveryTask,
            Parts.has("unanswered requests")
        else { return nil }
        self.tasks = tasks
        mayBeSlow = world.disk.isSlow
        scheme = choices.pick(["http", "https"])
        let configuration = URLSessionConfiguration.default
        // Longer than a request of this session may take altogether.
        configuration.timeoutIntervalForRequest = 60
        configuration.timeoutIntervalForResource = 20
        session = URLSession(configuration: configuration)
        let address: simulation_address = 0x0A00_0402
        var faults = OriginServer.Faults(), tls = simulation_tls_options(), link = simulation_link()
        // The others are answered, so that there are kept connections.
        faults.rates[.silence] = 2
        tls.offers_http2 = choices.oneIn(2)
        (link.latency, link.largest_segment) = (second / 100, 16_384)
        (link.send_buffer, link.receive_buffer) = (262_144, 131_072)
        simulation_add_name(Self.silentName, address, second / 20)
        simulation_set_link(address, link)
        simulation_set_reachable(Self.lostAddress, false)
        _ = OriginServer(
            name: Self.silentName, addresses: [address], faults: faults, others: [Self.silentName], isReliable: false,
            tls: tls)
    }

    /// Returns at the end of the last one.
    func run() {
        let end = DispatchSemaphore(value: 0)
        // Together they go to the lost host, on a connection each: time in line for one does not count.
        let isOneByOne = choices.oneIn(2), numbers = 4000..<4001 + choices.below(6)
        for number in numbers {
            start(number, toLostHost: !isOneByOne || choices.oneIn(2), end)
            guard isOneByOne else { continue }
            end.wait()
            // Until the library rests.
            usleep(UInt32(choices.below(500_000)))
        }
        if !isOneByOne { for _ in numbers { end.wait() } }
        session.finishTasksAndInvalidate()
    }

    private func start(_ number: Int, toLostHost isLost: Bool, _ end: DispatchSemaphore) {
        let isWhole = choices.oneIn(4), size = 10_000 + choices.below(10_000)
        let base = isLost ? "http://10.0.4.3" : "\(scheme)://\(Self.silentName)"
        // The host and the path have no character that a URL cannot have.
        var request = URLRequest(url: URL(string: "\(base)/content/\(number)/\(size)")!)
        var timeout = session.configuration.timeoutIntervalForResource
        if !isWhole {
            timeout = 0.2 + Double(choices.below(10_000)) / 1000
            request.timeoutInterval = timeout
        }
        let now = simulation_now(), earliest = now + simulation_time(timeout * 1e9)
        // The clock starts again when the connection is begun, before which a slow disk is asked, and when something
        // arrives.
        let latest = earliest + (mayBeSlow ? 4 * second : isLost ? second / 10 : second / 2)
        tasks.expect(number, .init(expectation: .timeout(earliest...latest, size: isLost ? nil : size)))
        let isAsync = choices.oneIn(2)
        simulation_note("task \(number) to \(base) has \(timeout) s\(isAsync ? ", async" : "")")
        if isAsync {
            let request = request
            Task { [session, tasks] in
                do {
                    let (data, response) = try await session.data(for: request)
                    tasks.finish(number, response, nil) { $0.data = data }
                } catch {
                    tasks.finish(number, nil, error) { _ in }
                }
                end.signal()
            }
        } else {
            let task = session.dataTask(with: request) { [tasks] data, response, error in
                tasks.finish(number, response, error) { $0.data = data ?? Data() }
                end.signal()
            }
            task.resume()
        }
    }
}
