import CSimulation
import Foundation
import URLLoading

/// Random use of the public interface, by one session.
final class Work: NSObject, URLSessionDataDelegate, URLSessionDownloadDelegate, URLSessionWebSocketDelegate,
    @unchecked Sendable
{
    private let world: World
    private let lock = NSCondition()
    private var records: [Int: Record] = [:]
    private var waitsForConnectivity = false
    private var isInvalidated = false
    private var isInvalid = false

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

    func run() {
        let choices = Choices("session")
        let configuration = URLSessionConfiguration.default
        if choices.oneIn(2) { configuration.timeoutIntervalForRequest = 5 }
        if let proxy = world.proxy {
            configuration.connectionProxyDictionary = Self.dictionary(of: proxy, hasPassword: choices.oneIn(2))
        }
        if world.networkChanges != nil { waitsForConnectivity = Choices("connectivity").oneIn(2) }
        setConnectivity(of: configuration)
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 1
        let session = URLSession(
            configuration: configuration, delegate: self, delegateQueue: choices.oneIn(2) ? queue : nil)
        let cancels = choices.oneIn(6)
        for number in 0..<1 + choices.below(20) where Parts.has("task \(number)") {
            let choices = Choices("task \(number)")
            start(number, choices, in: session)
            if choices.oneIn(3) { usleep(UInt32(choices.below(500_000))) }
        }
        if choices.oneIn(3) { runChain(in: session, choices) }
        if let unanswered = UnansweredRequests(of: self, in: world) {
            waitForTasks()
            unanswered.run()
        }
        if let changes = world.networkChanges {
            waitForTasks()
            changes.waitForEnd()
            runChainAtLast(in: session)
        }
        let floods = choices.oneIn(80)
        if floods, Parts.has("unread responses") { leaveUnread(in: session) }
        // Longer than some connections are kept.
        if choices.oneIn(4) { usleep(UInt32(choices.below(70_000_000))) }
        lock.withLock { isInvalidated = true }
        if !world.isFaultless, cancels, Parts.has("cancelling the session") {
            lock.withLock { for number in records.keys { records[number]?.wasCancelled = true } }
            session.invalidateAndCancel()
        } else {
            session.finishTasksAndInvalidate()
        }
        wait { [self] in isInvalid && records.values.allSatisfy(\.hasEnded) }
        // Longer than a closed socket is still read.
        sleep(60)
        Law.require(simulation_open_sockets() == 0, "a session that is invalid has no connection")
        for case .webSocket(let exchange) in records.values.map(\.expectation) {
            Law.require(exchange.isQuiet, "every handler of WebSocket \(exchange.number) is called")
        }
    }

    /// Until it holds, which is asked with the lock each time a task ends.
    private func wait(until condition: () -> Bool) {
        lock.lock()
        while !condition() { lock.wait() }
        lock.unlock()
    }

    private func setConnectivity(of configuration: URLSessionConfiguration) {
        guard world.networkChanges != nil else { return }
        configuration.waitsForConnectivity = waitsForConnectivity
        configuration.timeoutIntervalForResource = 600
    }

    private func runChain(in session: URLSession, _ choices: Choices) {
        let isAlone = choices.oneIn(2)
        if isAlone { waitForTasks() }
        let hasHTTP3 = world.hosts.contains { $0.offersHTTP3 }
        guard hasHTTP3, Choices("early data").oneIn(2), Parts.has("early data") else {
            return RequestChain(of: self, session, to: world.hosts, isAlone: isAlone && world.isFaultless).run()
        }
        // A request comes before the handshake is complete only if no delegate may judge the server.
        let configuration = URLSessionConfiguration.default
        configuration.enablesEarlyData = true
        setConnectivity(of: configuration)
        let early = URLSession(configuration: configuration)
        RequestChain(of: self, early, to: world.hosts, isAlone: isAlone && world.isFaultless).run()
        early.finishTasksAndInvalidate()
    }

    /// Requests that have to succeed, because the network has come back.
    private func runChainAtLast(in session: URLSession) {
        let hosts = world.hosts.map { host in
            var host = host
            host.isFaultless = host.isFaultlessAtLast
            return host
        }
        RequestChain(of: self, session, to: hosts, isAlone: false, first: 5000).run()
    }

    /// All but those that end with their session.
    private func waitForTasks() {
        wait { [self] in
            records.values.allSatisfy { record in
                if case .cancellation = record.expectation { true } else { record.hasEnded }
            }
        }
    }

    /// Of a task that is about to be made.
    func expect(_ expectation: Expectation, _ number: Int, mayFail: Bool) {
        lock.withLock { records[number] = Record(expectation: expectation, mayFail: mayFail) }
    }

    func cancel(_ task: URLSessionTask, _ number: Int) {
        lock.withLock { records[number]?.wasCancelled = true }
        task.cancel()
        lock.withLock { records[number]?.cancelled = simulation_now() }
    }

    /// Responses whose body nobody reads, more than what a connection holds in all, and at last one that is read.
    private func leaveUnread(in session: URLSession) {
        let host = world.hosts.first { $0.isWide && $0.isFaultless && $0.offersHTTP2 && $0.server != nil }
        guard let host else { return }
        waitForTasks()
        let numbers = 3000..<3100, size = 1_500_000
        for number in numbers {
            let isLast = number == numbers.last
            expect(.content(number, size: size), number, mayFail: false)
            lock.withLock { records[number]?.isUnread = !isLast }
            // The host and the path have no character that a URL cannot have.
            let task = session.dataTask(with: URL(string: "https://\(host.name)/quick/\(number)/\(size)")!)
            task.taskDescription = "\(number)"
            task.resume()
            if isLast { break }
            // Long enough for what the window of a stream holds.
            sleep(3)
            cancel(task, number)
        }
        waitForTasks()
    }

    static func dictionary(of proxy: ProxyServer, hasPassword: Bool) -> [String: Any] {
        let keys = proxy.kind == .http ? ["HTTP", "HTTPS"] : ["SOCKS"]
        var dictionary: [String: Any] = [:]
        for key in keys {
            dictionary[key + "Enable"] = 1
            dictionary[key + "Proxy"] = ProxyServer.name
            dictionary[key + "Port"] = Int(proxy.port)
        }
        // SOCKS has no challenge.
        if proxy.kind == .socks || hasPassword {
            dictionary["kCFProxyUsernameKey"] = ProxyServer.user
            dictionary["kCFProxyPasswordKey"] = ProxyServer.password
        }
        return dictionary
    }

    private func start(_ number: Int, _ choices: Choices, in session: URLSession) {
        if choices.oneIn(12) { return startWithoutHost(number, choices, in: session) }
        let target = choices.pick(world.hosts)
        guard target.server != nil else { return }
        let host = target.name
        if choices.oneIn(10) { return startWebSocket(number, target, choices, in: session) }
        if choices.oneIn(10) { return startResumable(number, target, choices, in: session) }
        // Now and then more than the windows of HTTP/2. A redirect goes to any host.
        let isLarge = choices.oneIn(16) && world.hosts.allSatisfy(\.isWide) && Parts.has("task \(number) is large")
        let size = isLarge ? choices.below(6_000_000) : choices.size(upTo: 300_000)
        let hops = choices.oneIn(4) ? 1 + choices.below(4) : 0
        let kind = choices.pick(["content", "content", "content", "cached", "basic", "digest"])
        // The same few resources.
        let resource = kind == "cached" ? 990 + choices.below(3) : number
        let path =
            hops > 0
            ? "redirect/\(hops)/\(number)/\(size)" : "\(kind)/\(resource)/\(kind == "cached" ? resource * 3 : size)"
        let http3Choices = Choices("task \(number) in HTTP/3")
        let isSecure = choices.oneIn(2) || target.offersHTTP3 && !http3Choices.oneIn(4)
        // A proxy has no FTP.
        let mayBeFTP = hops == 0 && kind == "content" && world.proxy == nil
        let isFTP = mayBeFTP && Choices("task \(number) over FTP").oneIn(6)
        let scheme = isFTP ? "ftp" : isSecure ? "https" : "http"
        // The host and the path have no character that a URL cannot have.
        let url = URL(string: "\(scheme)://\(host)/\(path)")!
        // A redirect goes to any host.
        var mayFail = hops > 0 ? !world.isFaultless : !target.isFaultless
        if choices.oneIn(5), hops > 0 || kind == "content" {
            return startAsync(number, url, choices, size: size, mayFail: mayFail, in: session)
        }
        let task: URLSessionTask
        var expectation =
            hops > 0 || kind != "cached"
            ? Expectation.content(number, size: size) : .cached(resource, size: resource * 3)
        var request = URLRequest(url: url)
        request.assumesHTTP3Capable = target.offersHTTP3 ? !http3Choices.oneIn(3) : http3Choices.oneIn(16)
        simulation_note("task \(number) is of \(url)\(request.assumesHTTP3Capable ? ", which may have HTTP/3" : "")")
        switch isFTP ? choices.below(4) : choices.below(5) {
        case 0: task = session.dataTask(with: request)
        case 1: task = session.downloadTask(with: request)
        case 2:
            task = session.dataTask(with: request) { [self] data, response, error in
                finish(number, response, error) { $0.data = data ?? Data() }
            }
        case 3:
            task = session.downloadTask(with: request) { [self] file, response, error in
                finish(number, response, error) { record in
                    record.hasFile = file != nil
                    if let file { record.data = SimulatedDisk.content(of: file) }
                }
            }
        default:
            let path = hops > 0 ? "forward/\(hops)" : "post"
            request.url = URL(string: "\(scheme)://\(host)/\(path)/\(number)")!
            request.httpMethod = "POST"
            if hops > 0, choices.oneIn(2) {
                request.setValue(Password.token(of: host), forHTTPHeaderField: "Authorization")
            }
            expectation = .post(number, size: size)
            let body = Data(Content.bytes(number, 0..<size))
            if choices.oneIn(2) {
                let file = FileManager.default.temporaryDirectory.appendingPathComponent("body\(number)")
                SimulatedDisk.write(body, to: file)
                if !world.disk.isFaultless { mayFail = true }
                task = session.uploadTask(with: request, fromFile: file)
            } else {
                task = session.uploadTask(with: request, from: body)
            }
        }
        if task is URLSessionDownloadTask, !world.disk.isFaultless { mayFail = true }
        task.taskDescription = "\(number)"
        let answers: [Answer] = choices.pick([
            [.right], [.wrong, .right], [.wrong, .wrong, .right], [.nothing], [.cancel],
        ])
        let record = Record(expectation: expectation, mayFail: mayFail, answers: answers)
        lock.withLock { records[number] = record }
        // Nobody keeps it, so that it ends with its session at the latest.
        if choices.oneIn(20), Parts.has("task \(number) is not resumed") {
            lock.withLock {
                records[number]?.wasCancelled = true
                records[number]?.expectation = .cancellation
            }
            if choices.oneIn(2) { task.cancel() }
            return
        }
        task.resume()
        if !world.isFaultless, choices.oneIn(6), Parts.has("task \(number) is cancelled") {
            usleep(UInt32(choices.below(300_000)))
            lock.withLock { records[number]?.wasCancelled = true }
            task.cancel()
            lock.withLock { records[number]?.cancelled = simulation_now() }
        }
        if choices.oneIn(6), Parts.has("task \(number) is suspended") {
            task.suspend()
            usleep(UInt32(choices.below(2_000_000)))
            task.resume()
        }
    }

    /// It may begin after the session was invalidated, and end after the session has become invalid.
    private func startAsync(
        _ number: Int, _ url: URL, _ choices: Choices, size: Int, mayFail: Bool, in session: URLSession
    ) {
        lock.withLock {
            records[number] = Record(expectation: .content(number, size: size), isAsync: true, mayFail: mayFail)
        }
        let load = Task {
            do {
                let (data, response) = try await session.data(from: url)
                finish(number, response, nil) { $0.data = data }
            } catch {
                finish(number, nil, error) { _ in }
            }
        }
        if !world.isFaultless, choices.oneIn(6), Parts.has("task \(number) is cancelled") {
            usleep(UInt32(choices.below(300_000)))
            lock.withLock { records[number]?.wasCancelled = true }
            load.cancel()
            lock.withLock { records[number]?.cancelled = simulation_now() }
        }
    }

    private func startResumable(_ number: Int, _ target: World.Host, _ choices: Choices, in session: URLSession) {
        let size = choices.size(upTo: 300_000), scheme = choices.oneIn(2) ? "https" : "http"
        // The host and the path have no character that a URL cannot have.
        let task = session.downloadTask(with: URL(string: "\(scheme)://\(target.name)/large/\(number)/\(size)")!)
        task.taskDescription = "\(number)"
        let download = ResumableDownload(
            task, resumes: choices.below(3),
            makeTask: { [self] data in
                lock.withLock {
                    guard !isInvalidated else { return nil }
                    let next = session.downloadTask(withResumeData: data)
                    next.taskDescription = "\(number)"
                    records[number]?.hasFile = false
                    return next
                }
            },
            willGiveUp: { [self] in lock.withLock { records[number]?.wasCancelled = true } },
            giveUp: { [self] in finish(number, nil, URLError(.cancelled)) { _ in } })
        var record = Record(
            expectation: .content(number, size: size), mayFail: !target.isFaultless || !world.disk.isFaultless)
        record.download = download
        let started = record
        lock.withLock { records[number] = started }
        task.resume()
        for _ in 0..<choices.below(3) where Parts.has("task \(number) is paused") {
            usleep(UInt32(choices.below(500_000)))
            download.pause()
        }
    }

    private func startWebSocket(_ number: Int, _ target: World.Host, _ choices: Choices, in session: URLSession) {
        let count = 1 + choices.below(5), clientCloses = choices.oneIn(2)
        let scheme = choices.oneIn(2) ? "wss" : "ws"
        // The host and the path have no character that a URL cannot have.
        let url = URL(string: "\(scheme)://\(target.name)/echo/\(number)/\(clientCloses ? 0 : count)")!
        let task = session.webSocketTask(with: url)
        task.taskDescription = "\(number)"
        let exchange = WebSocketExchange(number, task, count: count, clientCloses: clientCloses, choices) { [self] in
            lock.withLock { records[number]?.wasCancelled = true }
        }
        let record = Record(expectation: .webSocket(exchange), mayFail: !target.isFaultless)
        lock.withLock { records[number] = record }
        exchange.begin()
        task.resume()
        guard !target.isFaultless else { return }
        // One that is open has no timeout.
        DispatchQueue.global().asyncAfter(deadline: .now() + 300) { [self] in
            lock.withLock { if records[number]?.hasEnded == false { records[number]?.wasCancelled = true } }
            task.cancel()
        }
    }

    private func startWithoutHost(_ number: Int, _ choices: Choices, in session: URLSession) {
        lock.withLock { records[number] = Record(expectation: .noHost) }
        if choices.oneIn(2) { return startWithBadCertificate(number, choices, in: session) }
        // The names are those of a URL.
        let url = URL(string: "http://\(choices.oneIn(2) ? World.unknownName : World.closedName)/")!
        let task = session.dataTask(with: url)
        task.taskDescription = "\(number)"
        task.resume()
    }

    /// The program trusts it all the same, or not.
    private func startWithBadCertificate(_ number: Int, _ choices: Choices, in session: URLSession) {
        let isExpired = choices.oneIn(2)
        let name = isExpired ? World.expiredName : World.strangerName
        let code: URLError.Code = isExpired ? .serverCertificateHasBadDate : .serverCertificateUntrusted
        let size = choices.size(upTo: 20_000)
        let mayFail =
            world.proxy?.isFaultless == false || world.disk.runsOutOfDescriptors || world.networkChanges != nil
        let trusts = Choices("trust \(name)").oneIn(2)
        let record = Record(
            expectation: trusts ? .content(number, size: size) : .badCertificate(code), mayFail: mayFail)
        lock.withLock { records[number] = record }
        // The names are those of a URL.
        let task = session.dataTask(with: URL(string: "https://\(name)/content/\(number)/\(size)")!)
        task.taskDescription = "\(number)"
        task.resume()
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
            // Less than any timeout, and enough for what a slow disk has to do.
            Law.require(simulation_now() < cancelled + 4 * second, "task \(number) ends soon after it was cancelled")
        }
        change(&record)
        record.hasEnded = true
        records[number] = record
        if let error {
            let code = (error as? URLError)?.code
            simulation_note("task \(number) ends: \(code?.rawValue ?? 0)")
            Law.require(code != nil, "an error is a URLError: \(error)")
            // FTP does not wait (docs/STATUS.md).
            let mayWait = waitsForConnectivity && (error as? URLError)?.failingURL?.scheme != "ftp"
            Law.require(
                !mayWait || code != .notConnectedToInternet, "task \(number) waits for connectivity: \(error)")
            let mayBeRefused = record.isAsync && isInvalidated || record.hasRefused
            Law.require(
                code != .cancelled || record.wasCancelled || mayBeRefused, "task \(number) is cancelled by nobody else")
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
                if world.disk.runsOutOfDescriptors || world.networkChanges != nil, let code { codes.append(code) }
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
            let told = (response as? HTTPURLResponse)?.value(forHTTPHeaderField: "X-Content").flatMap { Int($0) }
            switch record.expectation {
            case .content(let resource, let size), .cached(let resource, let size):
                let count = record.data.count
                Law.require(count == size || mayBeCut && count < size, "task \(number) has \(size) octets: \(count)")
                let content = told ?? resource
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
            guard records[number] != nil else { return Law.require(false, "a task that is told of is known") }
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
            let told = "\(closeCode.rawValue) \(String(decoding: reason ?? Data(), as: UTF8.self))"
            let sent = "\(WebSocketEndpoint.code(number)) \(WebSocketEndpoint.reason(number))"
            Law.require(told == sent, "WebSocket \(number) closes as the server has: \(told)")
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
