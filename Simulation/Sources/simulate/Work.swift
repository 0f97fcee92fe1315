import CSimulation
import Foundation
import URLLoading

/// Random use of the public interface, by one session.
struct Work {
    private let world: World
    private let tasks: ExpectedTasks

    init(in world: World) {
        self.world = world
        tasks = ExpectedTasks(in: world)
    }

    func run() {
        let choices = Choices("session")
        let configuration: URLSessionConfiguration = Choices("stores").oneIn(6) ? .ephemeral : .default
        if choices.oneIn(2) { configuration.timeoutIntervalForRequest = 5 }
        let connections = Choices("connections")
        if connections.oneIn(4) { configuration.httpMaximumConnectionsPerHost = 1 + connections.below(2) }
        if let proxy = world.proxy {
            proxy.configure(configuration, hasPassword: choices.oneIn(2))
        }
        if world.networkChanges != nil { tasks.waitsForConnectivity = Choices("connectivity").oneIn(2) }
        setConnectivity(of: configuration)
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 1
        let session = URLSession(
            configuration: configuration, delegate: tasks, delegateQueue: choices.oneIn(2) ? queue : nil)
        let cancels = choices.oneIn(6)
        for number in 0..<1 + choices.below(20) where Parts.has("task \(number)") {
            let choices = Choices("task \(number)")
            start(number, choices, in: session)
            if choices.oneIn(3) { usleep(UInt32(choices.below(500_000))) }
        }
        if choices.oneIn(3) { runChain(in: session, choices) }
        if let unanswered = UnansweredRequests(of: tasks, in: world) {
            tasks.waitForTasks()
            unanswered.run()
        }
        if let changes = world.networkChanges {
            tasks.waitForTasks()
            changes.waitForEnd()
            runChainAtLast(in: session)
        }
        let floods = choices.oneIn(80)
        if floods, Parts.has("unread responses") { leaveUnread(in: session) }
        // Longer than some connections are kept.
        if choices.oneIn(4) { usleep(UInt32(choices.below(70_000_000))) }
        let isCancelled = !world.isFaultless && cancels && Parts.has("cancelling the session")
        tasks.invalidate(cancellingTasks: isCancelled)
        if isCancelled {
            session.invalidateAndCancel()
        } else {
            session.finishTasksAndInvalidate()
        }
        tasks.waitForInvalidity()
        // Longer than a closed socket is still read.
        sleep(60)
        Law.require(simulation_open_sockets() == 0, "a session that is invalid has no connection")
        for exchange in tasks.webSockets {
            Law.require(exchange.isQuiet, "every handler of WebSocket \(exchange.number) is called")
        }
    }

    private func setConnectivity(of configuration: URLSessionConfiguration) {
        guard world.networkChanges != nil else { return }
        configuration.waitsForConnectivity = tasks.waitsForConnectivity
        configuration.timeoutIntervalForResource = 600
    }

    private func runChain(in session: URLSession, _ choices: Choices) {
        let isAlone = choices.oneIn(2)
        if isAlone { tasks.waitForTasks() }
        let hasHTTP3 = world.hosts.contains { $0.offersHTTP3 }
        let hasEarlyData = hasHTTP3 && Choices("early data").oneIn(2) && Parts.has("early data")
        guard hasEarlyData || Choices("second session").oneIn(3) && Parts.has("second session") else {
            return RequestChain(of: tasks, session, to: world.hosts, isAlone: isAlone && world.isFaultless).run()
        }
        // It has the stores in common with the first one. A request comes before the handshake is complete only if no
        // delegate may judge the server.
        let configuration = URLSessionConfiguration.default
        configuration.enablesEarlyData = hasEarlyData
        world.proxy?.configure(configuration, hasPassword: true)
        setConnectivity(of: configuration)
        let second = URLSession(configuration: configuration)
        RequestChain(of: tasks, second, to: world.hosts, isAlone: isAlone && world.isFaultless).run()
        second.finishTasksAndInvalidate()
    }

    /// Requests that have to succeed, because the network has come back.
    private func runChainAtLast(in session: URLSession) {
        let hosts = world.hosts.map { host in
            var host = host
            host.isFaultless = host.isFaultlessAtLast
            return host
        }
        RequestChain(of: tasks, session, to: hosts, isAlone: false, first: 5000).run()
    }

    /// Responses with unread bodies, more than what a connection holds in all, and at last one that is read.
    private func leaveUnread(in session: URLSession) {
        let host = world.hosts.first { $0.isWide && $0.isFaultless && $0.offersHTTP2 && $0.server != nil }
        guard let host else { return }
        tasks.waitForTasks()
        let numbers = 3000..<3100, size = 1_500_000
        for number in numbers {
            let isLast = number == numbers.last
            tasks.expect(number, .init(expectation: .content(number, size: size), isUnread: !isLast))
            // The host and the path have no character that a URL cannot have.
            let task = session.dataTask(with: URL(string: "https://\(host.name)/quick/\(number)/\(size)")!)
            task.taskDescription = "\(number)"
            task.resume()
            if isLast { break }
            // Long enough for what the window of a stream holds.
            sleep(3)
            tasks.cancel(number) { task.cancel() }
        }
        tasks.waitForTasks()
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
        // Its second connection goes where its first one is.
        if isFTP, target.moves { mayFail = true }
        if choices.oneIn(5), hops > 0 || kind == "content" {
            return startAsync(number, url, choices, size: size, mayFail: mayFail, in: session)
        }
        let task: URLSessionTask
        var expectation =
            hops > 0 || kind != "cached"
            ? ExpectedTasks.Expectation.content(number, size: size) : .cached(resource, size: resource * 3)
        var request = URLRequest(url: url)
        request.assumesHTTP3Capable = target.offersHTTP3 ? !http3Choices.oneIn(3) : http3Choices.oneIn(16)
        simulation_note("task \(number) is of \(url)\(request.assumesHTTP3Capable ? ", which may have HTTP/3" : "")")
        switch isFTP ? choices.below(4) : choices.below(5) {
        case 0: task = session.dataTask(with: request)
        case 1: task = session.downloadTask(with: request)
        case 2:
            task = session.dataTask(with: request) { [tasks] data, response, error in
                tasks.finish(number, response, error) { $0.data = data ?? Data() }
            }
        case 3:
            task = session.downloadTask(with: request) { [tasks] file, response, error in
                tasks.finish(number, response, error) { record in
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
            let body = Data(Content.bytes(number, 0..<size)), isFile = choices.oneIn(2)
            if Choices("task \(number) streams").oneIn(3) {
                // The delegate gives the body, again after a redirect.
                task = session.uploadTask(withStreamedRequest: request)
            } else if isFile {
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
        let answers: [ExpectedTasks.Answer] = choices.pick([
            [.right], [.wrong, .right], [.wrong, .wrong, .right], [.nothing], [.cancel],
        ])
        tasks.expect(number, .init(expectation: expectation, mayFail: mayFail, answers: answers))
        // It is not retained, so that it ends with its session at the latest.
        if choices.oneIn(20), Parts.has("task \(number) is not resumed") {
            tasks.change(number) { ($0.wasCancelled, $0.expectation) = (true, .cancellation) }
            if choices.oneIn(2) { task.cancel() }
            return
        }
        task.resume()
        if !world.isFaultless, choices.oneIn(6), Parts.has("task \(number) is cancelled") {
            usleep(UInt32(choices.below(300_000)))
            tasks.cancel(number) { task.cancel() }
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
        tasks.expect(number, .init(expectation: .content(number, size: size), isAsync: true, mayFail: mayFail))
        let load = Task { [tasks] in
            do {
                let byOctets = Choices("task \(number) by octets")
                let (data, response) =
                    byOctets.oneIn(3)
                    ? try await Self.octets(from: url, byOctets, in: session) : try await session.data(from: url)
                tasks.finish(number, response, nil) { $0.data = data }
            } catch {
                tasks.finish(number, nil, error) { _ in }
            }
        }
        if !world.isFaultless, choices.oneIn(6), Parts.has("task \(number) is cancelled") {
            usleep(UInt32(choices.below(300_000)))
            tasks.cancel(number) { load.cancel() }
        }
    }

    /// Now and then reading pauses for a while, and the transfer has to stop.
    private static func octets(
        from url: URL, _ choices: Choices, in session: URLSession
    ) async throws -> (Data, URLResponse) {
        let (octets, response) = try await session.bytes(from: url)
        let place = choices.oneIn(2) ? choices.size(upTo: 300_000) : -1
        var data = Data()
        for try await octet in octets {
            if data.count == place { try? await Task.sleep(nanoseconds: UInt64(choices.below(2_000_000_000))) }
            data.append(octet)
        }
        return (data, response)
    }

    private func startResumable(_ number: Int, _ target: World.Host, _ choices: Choices, in session: URLSession) {
        let size = choices.size(upTo: 300_000), scheme = choices.oneIn(2) ? "https" : "http"
        // The host and the path have no character that a URL cannot have.
        let task = session.downloadTask(with: URL(string: "\(scheme)://\(target.name)/large/\(number)/\(size)")!)
        task.taskDescription = "\(number)"
        let download = ResumableDownload(
            task, resumes: choices.below(3),
            makeTask: { [tasks] data in
                tasks.change(number) { $0.hasFile = false }
                return tasks.whileValid {
                    let next = session.downloadTask(withResumeData: data)
                    next.taskDescription = "\(number)"
                    return next
                }
            },
            willGiveUp: { [tasks] in tasks.change(number) { $0.wasCancelled = true } },
            giveUp: { [tasks] in tasks.finish(number, nil, URLError(.cancelled)) { _ in } })
        tasks.expect(
            number,
            .init(
                expectation: .content(number, size: size), download: download,
                mayFail: !target.isFaultless || !world.disk.isFaultless))
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
        let exchange = WebSocketExchange(number, task, count: count, clientCloses: clientCloses, choices) { [tasks] in
            tasks.change(number) { $0.wasCancelled = true }
        }
        tasks.expect(number, .init(expectation: .webSocket(exchange), mayFail: !target.isFaultless))
        exchange.begin()
        task.resume()
        guard !target.isFaultless else { return }
        // One that is open has no timeout.
        DispatchQueue.global().asyncAfter(deadline: .now() + 300) { [tasks] in
            tasks.change(number) { if !$0.hasEnded { $0.wasCancelled = true } }
            task.cancel()
        }
    }

    private func startWithoutHost(_ number: Int, _ choices: Choices, in session: URLSession) {
        tasks.expect(number, .init(expectation: .noHost))
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
        let name = isExpired ? World.expiredName : World.wrongHostName
        let code: URLError.Code = isExpired ? .serverCertificateHasBadDate : .serverCertificateUntrusted
        let size = choices.size(upTo: 20_000)
        let mayFail =
            world.proxy?.isFaultless == false || world.disk.disturbsEveryTask || world.networkChanges != nil
        let trusts = Choices("trust \(name)").oneIn(2)
        tasks.expect(
            number, .init(expectation: trusts ? .content(number, size: size) : .badCertificate(code), mayFail: mayFail))
        // The names are those of a URL.
        let task = session.dataTask(with: URL(string: "https://\(name)/content/\(number)/\(size)")!)
        task.taskDescription = "\(number)"
        task.resume()
    }
}
