import Foundation
import TestSupport
import URLLoading

/// The results of requests by concurrent tasks to one server, over a period.
struct LostRequests {
    enum Kind: String, CaseIterable, Sendable {
        case get = "GET"
        /// A body that can be sent again.
        case post = "POST"
        /// A body from a stream, with a new stream from the delegate.
        case stream = "POST of a stream"
    }

    var answered = 0
    /// The number of failures by error code.
    var lost: [Int: Int] = [:]
    /// The number of failures after the response head. These are not repeated, because the program has the response.
    var cut: [Int: Int] = [:]

    /// Of the table.
    func row(_ name: String) -> String {
        let lost = lost.sorted { $0.key < $1.key }.map { "\($0.value) of \($0.key)" }.joined(separator: ", ")
        return "| \(name) | \(answered) | \(lost.isEmpty ? "0" : lost) |"
    }

    /// Those that must not be: of what is safe to send again, and of whatever the server says that it has not
    /// processed.
    func losses(of kind: Kind, to server: LimitedServer) -> [Int: Int] {
        guard kind == .get || server.reportsProcessedRequests else { return [:] }
        return server.cutsResponses ? lost.merging(cut) { $0 - $1 }.filter { $0.value != 0 } : lost
    }

    private static let body = Data([UInt8].pattern(count: 2_000))

    /// Gives streams.
    private final class Delegate: NSObject, URLSessionTaskDelegate {
        func urlSession(
            _ session: URLSession, task: URLSessionTask,
            needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
        ) {
            completionHandler(InputStream(data: LostRequests.body))
        }
    }

    /// Knows the task of an `async` load.
    private final class Witness: NSObject, URLSessionTaskDelegate, Sendable {
        private let task = EventRecorder<URLSessionTask>()

        func urlSession(_ session: URLSession, didCreateTask task: URLSessionTask) { self.task.record(task) }

        var hasResponse: Bool { task.events.last?.response != nil }
    }

    static func count(_ kind: Kind, from limited: LimitedServer, for duration: Duration) async throws -> LostRequests {
        let (server, reload) = try limited.start()
        defer { server.stop() }
        let configuration = URLSessionConfiguration.ephemeral
        configuration.urlCache = nil
        configuration.timeoutIntervalForRequest = 30
        let session = URLSession(configuration: configuration, delegate: Delegate(), delegateQueue: nil)
        defer { session.invalidateAndCancel() }
        let request = request(kind, server)
        let end = ContinuousClock.now + duration
        let reloading = Task {
            guard let interval = limited.reloads else { return }
            while !Task.isCancelled {
                try await Task.sleep(for: interval)
                reload()
            }
        }
        defer { reloading.cancel() }
        return await withTaskGroup(of: LostRequests.self) { group in
            for _ in 0..<limited.concurrency {
                group.addTask { await load(request, kind, by: session, until: end, idle: limited.idleSeconds) }
            }
            return await group.reduce(into: LostRequests()) { $0.add($1) }
        }
    }

    private static func request(_ kind: Kind, _ server: any FarmServer) -> URLRequest {
        var request = URLRequest(url: server.secureURL(kind == .get ? "/small" : "/post"))
        if kind != .get { request.httpMethod = "POST" }
        if kind == .post { request.httpBody = body }
        return request
    }

    private static func load(
        _ request: URLRequest, _ kind: Kind, by session: URLSession, until end: ContinuousClock.Instant, idle: Int
    ) async -> LostRequests {
        var result = LostRequests()
        repeat {
            var request = request
            if kind == .stream { request.httpBodyStream = InputStream(data: body) }
            let witness = Witness()
            do {
                _ = try await session.data(for: request, delegate: witness)
                result.answered += 1
            } catch {
                let code = (error as? URLError)?.errorCode ?? 0
                result.lost[code, default: 0] += 1
                if witness.hasResponse { result.cut[code, default: 0] += 1 }
            }
            // Some a little sooner than the server closes what is idle, and some a little later.
            if idle > 0 { try? await Task.sleep(for: .milliseconds(idle * 1000 + .random(in: -60...60))) }
        } while ContinuousClock.now < end
        return result
    }

    private mutating func add(_ other: LostRequests) {
        answered += other.answered
        lost.merge(other.lost) { $0 + $1 }
        cut.merge(other.cut) { $0 + $1 }
    }
}
