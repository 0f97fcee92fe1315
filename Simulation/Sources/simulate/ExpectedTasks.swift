import CSimulation
import Foundation
import URLLoading

/// What has to hold of the tasks of a session: what is expected of each, and what its callbacks have reported. It is
/// the session's delegate.
final class ExpectedTasks: NSObject, URLSessionDataDelegate, URLSessionDownloadDelegate, URLSessionWebSocketDelegate,
    @unchecked Sendable
{
    // Sendable because everything mutable is guarded by `lock`, but `waitsForConnectivity`, which is set before there
    // are tasks.
    private let world: World
    private let lock = NSCondition()
    private var records: [Int: Record] = [:]
    private var isInvalidated = false
    private var isInvalid = false
    /// Of the session.
    var waitsForConnectivity = false

    struct Record {
        var expectation: Expectation
        var hasResponse = false
        var data = Data()
        var hasFile = false
        var download: ResumableDownload?
        /// Of a WebSocket.
        var isOpen = false
        var hasClosed = false
        var hasEnded = false
        var wasCancelled = false
        /// When `cancel` had returned.
        var cancelled: simulation_time?
        var isAsync = false
        /// The program does not say what to do with the response.
        var isUnread = false
        /// Whether a host that it may reach has faults.
        var mayFail = false
        /// What it does when it is asked for a password.
        var answers: [Answer] = []
        var challenges = 0
        var hasRefused = false
    }

    /// To a challenge.
    enum Answer: CaseIterable { case right, wrong, nothing, cancel }

    enum Expectation {
        case content(Int, size: Int)
        case cached(Int, size: Int)
        case post(Int, size: Int)
        case webSocket(WebSocketExchange)
        /// An error that says that there is no such host.
        case noHost
        /// An error that says what is wrong with the certificate.
        case badCertificate(URLError.Code)
        /// The end of a task that was never resumed.
        case cancellation
        /// An error that says that time is over, at that time; or so many octets, if there is a server.
        case timeout(ClosedRange<simulation_time>, size: Int?)
    }

    init(in world: World) { self.world = world }

    // MARK: what the program does

    /// Of a task that is about to be made.
    func expect(_ number: Int, _ record: Record) { lock.withLock { records[number] = record } }

    func change(_ number: Int, _ body: (inout Record) -> Void) {
        lock.withLock { if records[number] != nil { body(&records[number]!) } }
    }

    /// Calls `cancel`.
    func cancel(_ number: Int, _ cancel: () -> Void) {
        change(number) { $0.wasCancelled = true }
        cancel()
        change(number) { $0.cancelled = simulation_now() }
    }

    /// The session is about to be invalidated.
    func invalidate(cancellingTasks cancels: Bool) {
        lock.withLock {
            isInvalidated = true
            if cancels { for number in records.keys { records[number]?.wasCancelled = true } }
        }
    }

    /// Returns nil once the session is invalidated, which it is not while `body` runs.
    func whileValid<Result>(_ body: () -> Result) -> Result? { lock.withLock { isInvalidated ? nil : body() } }

    /// Until all have ended but those that end with their session.
    func waitForTasks() {
        wait { [self] in
            records.values.allSatisfy { record in
                if case .cancellation = record.expectation { true } else { record.hasEnded }
            }
        }
    }

    /// Until the session is invalid, and all of them have ended.
    func waitForInvalidity() { wait { [self] in isInvalid && records.values.allSatisfy(\.hasEnded) } }

    var webSockets: [WebSocketExchange] {
        lock.withLock {
            records.values.compactMap { if case .webSocket(let exchange) = $0.expectation { exchange } else { nil } }
        }
    }

    /// Until it holds, which is asked with the lock each time a task ends.
    private func wait(until condition: () -> Bool) {
        lock.lock()
        while !condition() { lock.wait() }
        lock.unlock()
    }

    // MARK: the end of a task

    func finish(
        _ number: Int, _ response: URLResponse?, _ error: (any Error)?, _ change: (inout Record) -> Void
    ) {
        lock.lock()
        defer { lock.unlock() }
        guard var record = records[number] else { return Law.require(false, "a task that ends is known") }
        Law.require(!record.hasEnded, "task \(number) ends once")
        Law.require(!isInvalid || record.isAsync, "task \(number) ends before its session is invalid")
        if let cancelled = record.cancelled {
            // Less than any timeout, and enough for what a slow disk has to do; a hanging one has ten seconds. The file of
            // a complete download is handed over on the delegate queue, which waits for a disk that hangs.
            let mayQueueHang = !record.isAsync && records.values.contains(where: \.hasFile)
            let hang = mayQueueHang ? simulation_time(SimulatedDisk.longestHang) : 0
            let latest = cancelled + (world.disk.hangs ? 14 + hang : 4) * second
            Law.require(simulation_now() < latest, "task \(number) ends soon after it was cancelled")
        }
        change(&record)
        record.hasEnded = true
        records[number] = record
        if let error {
            let code = (error as? URLError)?.code
            simulation_note("task \(number) ends: \(code?.rawValue ?? 0)")
            Law.require(code != nil, "an error is a URLError: \(error)")
            Law.require(
                !waitsForConnectivity || code != .notConnectedToInternet,
                "task \(number) waits for connectivity: \(error)")
            let mayBeRefused = record.isAsync && isInvalidated || record.hasRefused
            Law.require(
                code != .cancelled || record.wasCancelled || mayBeRefused,
                "task \(number) is cancelled by the program only")
            if case .badCertificate(let expected) = record.expectation {
                Law.require(
                    code == expected || record.mayFail || record.wasCancelled,
                    "task \(number) ends with what is wrong with the certificate: \(error)")
            } else if case .cancellation = record.expectation {
                Law.require(code == .cancelled, "task \(number) is cancelled before it begins: \(error)")
            } else if case .timeout(let dates, _) = record.expectation {
                Law.require(code == .timedOut, "task \(number) ends because its time is over: \(error)")
                Law.require(
                    dates.contains(simulation_now()),
                    "task \(number) ends when its time is over: between \(dates.lowerBound) and \(dates.upperBound)")
            } else if case .noHost = record.expectation {
                var codes: [URLError.Code] = [.cannotFindHost, .cannotConnectToHost, .cancelled]
                if world.disk.disturbsEveryTask || world.networkChanges != nil, let code { codes.append(code) }
                if world.proxy?.isFaultless == false { codes += [.timedOut, .networkConnectionLost] }
                Law.require(code.map { codes.contains($0) } ?? false, "task \(number) finds no host: \(error)")
            } else {
                Law.require(
                    record.mayFail || record.wasCancelled || mayBeRefused,
                    "task \(number) fails only by a fault: \(error)")
            }
        } else {
            simulation_note("task \(number) ends")
            let status = (response as? HTTPURLResponse)?.statusCode
            if status == 401 {
                Law.require(record.hasRefused, "task \(number) is refused only without a password")
                return lock.broadcast()
            }
            if case .noHost = record.expectation {
                let isOfProxy = world.proxy?.kind == .http && status == 502
                Law.require(isOfProxy, "task \(number) has no host that could answer: \(status ?? 0)")
                return lock.broadcast()
            }
            if case .timeout(_, let size) = record.expectation {
                let isRight = record.data.count == size && Content.isRight(number, record.data)
                Law.require(isRight && status == 200, "task \(number) has a response that is whole: \(status ?? 0)")
                return lock.broadcast()
            }
            if case .webSocket(let exchange) = record.expectation {
                Law.require(status == 101, "WebSocket \(number) is open before it ends well: \(status ?? 0)")
                Law.require(record.hasClosed, "WebSocket \(number) ends well only after a close")
                Law.require(exchange.isComplete || record.wasCancelled, "WebSocket \(number) has all messages")
                return lock.broadcast()
            }
            let isRest = record.download != nil && status == 206
            let isFTP = response?.url?.scheme == "ftp"
            let isRight = status == 200 || isRest || isFTP && status == nil
            Law.require(isRight, "task \(number) has the response of the server: \(status ?? 0)")
            // A body that the end of the connection delimits may be cut.
            let mayBeCut =
                record.mayFail && status != 206
                && (response as? HTTPURLResponse)?.value(forHTTPHeaderField: "X-Until-Close") != nil
            // A redirect may lead to what is cached.
            let announced = (response as? HTTPURLResponse)?.value(forHTTPHeaderField: "X-Content").flatMap { Int($0) }
            switch record.expectation {
            case .content(let resource, let size), .cached(let resource, let size):
                let count = record.data.count
                Law.require(count == size || mayBeCut && count < size, "task \(number) has \(size) octets: \(count)")
                let content = announced ?? resource
                Law.require(
                    Content.isVersion(content, of: resource) && Content.isRight(content, record.data),
                    "the octets of task \(number) are right")
            case .post(_, let size):
                let answer = Data("\(size)".utf8)
                Law.require(
                    record.data == answer || mayBeCut && answer.starts(with: record.data),
                    "POST \(number) is answered: \(String(decoding: record.data, as: UTF8.self))")
            case .noHost, .webSocket, .timeout: break
            case .badCertificate: Law.require(false, "task \(number) has no host that it may trust")
            case .cancellation: Law.require(false, "task \(number) was not resumed")
            }
        }
        lock.broadcast()
    }

    // MARK: delegate

    private func number(_ task: URLSessionTask) -> Int {
        if let description = task.taskDescription { return Int(description) ?? -1 }
        // One of async: NUMBER/SIZE.
        return task.originalRequest?.url?.pathComponents.dropLast().last.flatMap { Int($0) } ?? -1
    }

    private func change(_ task: URLSessionTask, _ body: (inout Record) -> Void) {
        lock.withLock {
            let number = number(task)
            guard records[number] != nil else { return Law.require(false, "a task with an event is known") }
            // The record is there: see above.
            body(&records[number]!)
        }
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        let space = challenge.protectionSpace
        if space.authenticationMethod == NSURLAuthenticationMethodServerTrust {
            change(task) { Law.require(!$0.hasEnded, "a challenge comes before the end") }
            if Choices("trust \(space.host)").oneIn(2), let trust = space.serverTrust {
                return completionHandler(.useCredential, URLCredential(trust: trust))
            }
            return completionHandler(.performDefaultHandling, nil)
        }
        if space.isProxy() {
            Law.require(space.host == ProxyServer.name && space.realm == ProxyServer.realm, "the proxy asks for itself")
            let credential = URLCredential(
                user: ProxyServer.user, password: ProxyServer.password, persistence: .forSession)
            return completionHandler(.useCredential, credential)
        }
        let isFTP = space.protocol == NSURLProtectionSpaceFTP
        let methods =
            isFTP
            ? [NSURLAuthenticationMethodDefault]
            : [NSURLAuthenticationMethodHTTPBasic, NSURLAuthenticationMethodHTTPDigest]
        Law.require(methods.contains(space.authenticationMethod), "no other challenge: \(space.authenticationMethod)")
        let realm = isFTP ? nil : "area of \(space.host)"
        Law.require(space.realm == realm, "a challenge is of its host: \(space.realm ?? "")")
        var answer = Answer.right
        change(task) { record in
            Law.require(!record.hasEnded, "a challenge comes before the end")
            answer = record.answers.isEmpty ? .nothing : record.answers.removeFirst()
            record.challenges += 1
            Law.require(challenge.previousFailureCount < record.challenges, "a password is refused once (AUTH-9)")
            if answer == .nothing || answer == .cancel { record.hasRefused = true }
        }
        let scheme = space.protocol ?? ""
        let user = Password.user(of: space.host)
        let persistence: URLCredential.Persistence = challenge.previousFailureCount % 2 == 0 ? .forSession : .none
        func use(_ password: String) {
            completionHandler(
                .useCredential, URLCredential(user: user, password: password, persistence: persistence))
        }
        switch answer {
        case .right: use(Password.right(scheme, space.host))
        case .wrong: use(Password.wrong(scheme, space.host))
        case .nothing: completionHandler(.performDefaultHandling, nil)
        case .cancel: completionHandler(.cancelAuthenticationChallenge, nil)
        }
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask,
        needNewBodyStream completionHandler: @escaping (InputStream?) -> Void
    ) {
        var body: [UInt8] = []
        change(task) { record in
            Law.require(!record.hasEnded, "a body is asked for before the end")
            if case .post(let number, let size) = record.expectation { body = Content.bytes(number, 0..<size) }
        }
        completionHandler(InputStream(data: Data(body)))
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping (URLSession.ResponseDisposition) -> Void
    ) {
        var isUnread = false
        change(dataTask) { record in
            Law.require(!record.hasEnded && !record.hasResponse, "a response comes once, before the end")
            record.hasResponse = true
            isUnread = record.isUnread
        }
        if !isUnread { completionHandler(.allow) }
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        change(dataTask) { record in
            Law.require(!record.hasEnded && record.hasResponse, "data come between the response and the end")
            record.data += data
        }
    }

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didResumeAtOffset fileOffset: Int64,
        expectedTotalBytes: Int64
    ) {
        change(downloadTask) { record in
            guard case .content(let number, let size) = record.expectation else { return }
            simulation_note("task \(number) goes on at \(fileOffset)")
            let isRight = record.download != nil && fileOffset <= size && expectedTotalBytes == size
            Law.require(isRight, "a download goes on at \(fileOffset) of \(size) octets: \(expectedTotalBytes)")
        }
    }

    func urlSession(_ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL) {
        change(downloadTask) { record in
            Law.require(!record.hasEnded && !record.hasFile, "a file comes once, before the end")
            record.hasFile = true
            record.data = SimulatedDisk.content(of: location)
        }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        if let download = lock.withLock({ records[number(task)]?.download }), download.goesOn(after: task, error) {
            return
        }
        finish(number(task), task.response, error) { record in
            let isDownload = task is URLSessionDownloadTask
            let isWebSocket = task is URLSessionWebSocketTask
            Law.require(error != nil || record.hasResponse || isDownload || isWebSocket, "a success has a response")
            Law.require(error != nil || record.hasFile == isDownload, "a download that succeeds has a file")
        }
    }

    func urlSession(
        _ session: URLSession, webSocketTask: URLSessionWebSocketTask, didOpenWithProtocol protocol: String?
    ) {
        change(webSocketTask) { record in
            Law.require(!record.hasEnded && !record.isOpen, "a WebSocket opens once, before the end")
            record.isOpen = true
        }
    }

    func urlSession(
        _ session: URLSession, webSocketTask: URLSessionWebSocketTask,
        didCloseWith closeCode: URLSessionWebSocketTask.CloseCode, reason: Data?
    ) {
        let number = number(webSocketTask)
        change(webSocketTask) { record in
            Law.require(
                record.isOpen && !record.hasEnded && !record.hasClosed, "a WebSocket closes once, before the end")
            record.hasClosed = true
            guard case .webSocket(let exchange) = record.expectation, !exchange.clientCloses, !record.wasCancelled
            else { return }
            let announced = "\(closeCode.rawValue) \(String(decoding: reason ?? Data(), as: UTF8.self))"
            let sent = "\(WebSocketEndpoint.code(number)) \(WebSocketEndpoint.reason(number))"
            Law.require(announced == sent, "WebSocket \(number) closes as the server has: \(announced)")
        }
    }

    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {
        lock.withLock {
            Law.require(!isInvalid, "a session becomes invalid once")
            Law.require(
                records.values.allSatisfy { $0.hasEnded || $0.isAsync },
                "a session becomes invalid after its tasks have ended")
            isInvalid = true
            lock.broadcast()
        }
    }
}
