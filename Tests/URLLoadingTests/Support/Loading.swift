import Foundation
import LoadingConnections
import LoadingPipeline
import LoadingSemantics
import TestSupport
import Testing
import URLLoading

extension Trait where Self == LeakCheckedTrait {
    /// The test must leave no connections and threads. Permanent resources of the library are allowed: its loops and
    /// their threads, and resolver threads.
    static var leavesNothing: Self {
        Loading.arrangeChecks
        return .leakChecked
    }
}

enum Loading {
    fileprivate static let arrangeChecks: Void = {
        LeakCheck.allow(threadsNamed: "url-loop", "url-watch", "url-resolve", "url-script", "url-desktop")
        // Swift Testing's own, which waits for the processes of exit tests.
        LeakCheck.allow(threadsNamed: "SWT ExT monitor")
        LeakCheck.warmUp {
            // Dispatch keeps what its first timers need: those that fire and those that are cancelled.
            try? await Signal("nothing").wait(within: .milliseconds(1))
            let fired = Signal("something")
            Thread {
                // The first run loop makes that of the main thread as well.
                _ = RunLoop.current
                fired.fire()
            }.start()
            try? await fired.wait()
            // The monitor of the system's routes, which is permanent after its first use.
            let waiting = URLSession { $0.waitsForConnectivity = true }
            _ = try? await waiting.data(from: Self.refusedURL)
            await Self.openSharedStores()
            // A session each until every loop is alive.
            for _ in 0..<16 {
                let session = URLSession(configuration: .ephemeral)
                _ = try? await session.data(from: Self.refusedURL)
            }
        }
    }()

    /// The only cookie group for tests.
    static let cookieGroup = "org.example.group"

    /// Creates the permanent threads and files of the process's stores.
    private static func openSharedStores() async {
        let request = URLRequest(url: refusedURL)
        for cookies in [HTTPCookieStorage.shared, .sharedCookieStorage(forGroupContainerIdentifier: cookieGroup)] {
            guard
                let cookie = HTTPCookie(properties: [
                    .name: "a", .value: "b", .domain: "example.org", .path: "/", .expires: Date.distantFuture,
                ])
            else { continue }
            cookies.setCookie(cookie)
            await withCheckedContinuation { continuation in cookies.flush { continuation.resume() } }
            cookies.deleteCookie(cookie)
        }
        URLCache.shared.storeCachedResponse(
            CachedURLResponse(
                response: URLResponse(
                    url: refusedURL, mimeType: nil, expectedContentLength: 0, textEncodingName: nil), data: Data()),
            for: request)
        _ = URLCache.shared.currentDiskUsage
        URLCache.shared.removeCachedResponse(for: request)
        let hosts = URLSessionConfiguration.default.hsts
        try? hosts.noteHost("example.org")
        URLSessionConfiguration.default.snapshot.alternatives.removeAll()
        await withCheckedContinuation { continuation in URLSession.shared.flush { continuation.resume() } }
        hosts.removeAll()
        let credentials = URLCredentialStorage.shared
        let space = URLProtectionSpace(
            host: "example.org", port: 1, protocol: nil, realm: nil, authenticationMethod: nil)
        let credential = URLCredential(user: "a", password: "b", persistence: .permanent)
        credentials.set(credential, for: space)
        await withCheckedContinuation { continuation in credentials.flush { continuation.resume() } }
        credentials.remove(credential, for: space)
    }

    /// There is no server on port 1.
    private static let refusedURL = URL(string: "http://127.0.0.1:1/") ?? URL(fileURLWithPath: "/")
}

extension URLSession {
    /// An ephemeral session with a delegate.
    convenience init(
        _ delegate: any URLSessionDelegate, queue: OperationQueue? = nil,
        _ configure: (URLSessionConfiguration) -> Void = { _ in }
    ) {
        let configuration = URLSessionConfiguration.ephemeral
        configure(configuration)
        self.init(configuration: configuration, delegate: delegate, delegateQueue: queue)
    }

    /// An ephemeral session without a delegate.
    convenience init(_ configure: (URLSessionConfiguration) -> Void) {
        let configuration = URLSessionConfiguration.ephemeral
        configure(configuration)
        self.init(configuration: configuration)
    }
}

extension URLSession {
    /// Calls `body` with an ephemeral session without a delegate, whose queue makes no call meanwhile.
    static func withSuspendedQueue(_ body: (URLSession) async throws -> Void) async throws {
        let queue = SuspendedQueue(width: 1)
        let session = URLSession(configuration: .ephemeral, delegate: nil, delegateQueue: queue)
        defer {
            queue.isSuspended = false
            session.invalidateAndCancel()
        }
        try await body(session)
    }
}

extension OperationQueue {
    /// A queue with a maximum number of concurrent operations.
    convenience init(name: String, width: Int) {
        self.init()
        self.name = name
        maxConcurrentOperationCount = width
    }
}
