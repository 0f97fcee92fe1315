import Foundation
import LoadingSemantics
import LoadingTestSupport
import TestSupport
import Testing
import URLLoading

/// Resumed uploads, automatically and with resume data.
@Suite(.leavesNothing) struct ResumedUploadTests {
    enum Kind: CaseIterable { case data, file, stream, announcedStream }

    private static let body = [UInt8].pattern(count: 1_000_000)
    private static let size = Int64(body.count)

    private struct Setting {
        let server: ResumableUploadServer
        let delegate = RecordingUploadDelegate(ResumedUploadTests.body)
        let directory: TemporaryDirectory
        let file: URL
        var fields: [String: String] = [:]
        var userInformation = ""
        var change: (inout URLRequest) -> Void = { _ in }
        var configure: (URLSessionConfiguration) -> Void = { _ in }

        init(_ options: ResumableUploadServer.Options) throws {
            server = try ResumableUploadServer(options)
            directory = try TemporaryDirectory()
            file = try directory.write(ResumedUploadTests.body, to: "body")
        }

        var url: URL {
            let url = server.url()
            return URL(string: url.absoluteString.replacing("//", with: "//" + userInformation)) ?? url
        }

        func request(_ method: String = "POST") -> URLRequest {
            URLRequest(url: url).with {
                $0.httpMethod = method
                $0.setValue("text/x", forHTTPHeaderField: "Content-Type")
                for (name, value) in fields { $0.setValue(value, forHTTPHeaderField: name) }
                change(&$0)
            }
        }

        func start(_ kind: Kind, _ session: URLSession) -> URLSessionUploadTask {
            let task =
                switch kind {
                case .data: session.uploadTask(with: request(), from: Data(ResumedUploadTests.body))
                case .file: session.uploadTask(with: request(), fromFile: file)
                case .stream: session.uploadTask(withStreamedRequest: request())
                case .announcedStream:
                    session.uploadTask(
                        withStreamedRequest: request().with {
                            $0.setValue("\(ResumedUploadTests.size)", forHTTPHeaderField: "Content-Length")
                        })
                }
            task.resume()
            return task
        }

        func session(on stepped: SteppedLoop) -> URLSession {
            URLSession(delegate) {
                configure($0)
                $0.loop = stepped.loop
            }
        }

        /// Retry delays are skipped.
        func callsUntilInvalid(on stepped: SteppedLoop) async throws -> [Call] {
            let delegate = delegate
            return try await stepped.skippingPauses(within: TimeLimits.seconds(2)) {
                try await delegate.callsUntilInvalid()
            }
        }

        func run(_ kind: Kind) async throws -> [Call] {
            let stepped = try SteppedLoop()
            let session = session(on: stepped)
            let task = start(kind, session)
            session.finishTasksAndInvalidate()
            let calls = try await callsUntilInvalid(on: stepped)
            #expect(delegate.faults.events == [])
            #expect(server.faults == [])
            #expect(calls.completionCount == 1)
            if calls.failure == nil { #expect(task.countOfBytesSent == ResumedUploadTests.size) }
            return calls
        }
    }

    private static let end: [Call] = [
        .response(1, 200), .data(1, "\(size)"), .metrics(1), .completed(1, nil), .invalid,
    ]

    private func questions(_ kind: Kind, _ offsets: [Int64]) -> [Call] {
        kind == .stream || kind == .announcedStream ? offsets.map { .needsStream(1, $0) } : []
    }

    // RES-14, RES-15, RES-17, RES-19, RES-20, T-51, T-52
    @Test("an upload resumes after a lost connection", arguments: Kind.allCases)
    func anUploadResumesAfterALostConnection(kind: Kind) async throws {
        let setting = try Setting(.init(cuts: [300_000, 0, 200_000]))
        defer { setting.server.stop() }
        let calls = try await setting.run(kind).withoutSent
        #expect(
            calls == [.created(1)] + questions(kind, [0]) + [.informational(1, 104)]
                + questions(kind, [300_000, 300_000, 500_000]) + Self.end)
        #expect(
            setting.server.requests == [
                "POST /", "HEAD /uploads/0", "PATCH /uploads/0 from 300000", "HEAD /uploads/0",
                "PATCH /uploads/0 from 300000", "HEAD /uploads/0", "PATCH /uploads/0 from 500000",
            ])
        #expect(setting.server.uploads.map(\.bytes) == [Data(Self.body)])
        #expect(setting.server.uploads.map(\.isComplete) == [true])
        let first = try #require(setting.server.scripted.requests.first)
        #expect(first["Upload-Length"] == (kind == .stream ? nil : "\(Self.size)"))
        #expect(first["Upload-Complete"] == "?1")
        // MET-1: each request is one of the metrics, and the task's response is that of the last
        let transactions = try #require(setting.delegate.metrics.events.first).transactionMetrics
        let names = transactions.map { "\($0.request.httpMethod ?? "") \($0.request.url?.path ?? "")" }
        #expect(
            names == setting.server.requests.map { $0.split(separator: " ").prefix(2).joined(separator: " ") })
        #expect(transactions.map { $0.response != nil } == transactions.indices.map { $0 == transactions.count - 1 })
    }

    // CACHE-19: whichever request it was that succeeded
    @Test("a resumed upload invalidates the stored response", arguments: [false, true])
    func aResumedUploadInvalidatesTheStoredResponse(redirects: Bool) async throws {
        var options = ResumableUploadServer.Options(cuts: [300_000])
        options.redirects = redirects
        var setting = try Setting(options)
        defer { setting.server.stop() }
        let cache = URLCache(memoryCapacity: 1 << 20, diskCapacity: 0, directory: nil)
        setting.configure = { $0.urlCache = cache }
        let addresses = ["/", "/moved", "/other"].map { setting.server.url($0) }
        for url in addresses {
            let response = try #require(HTTPURLResponse(url: url, statusCode: 200, httpVersion: nil, headerFields: nil))
            cache.storeCachedResponse(CachedURLResponse(response: response, data: Data()), for: URLRequest(url: url))
        }
        #expect(try await setting.run(.data).failure == nil)
        #expect(setting.server.requests.last == "PATCH /uploads/0 from 300000")
        let kept = addresses.filter { cache.cachedResponse(for: URLRequest(url: $0)) != nil }
        #expect(kept.map(\.path) == (redirects ? ["/other"] : ["/moved", "/other"]))
    }

    // RES-18, RES-19: as long as nothing is lost this is an upload like any other
    @Test("nothing is lost", arguments: Kind.allCases) func nothingIsLost(kind: Kind) async throws {
        let setting = try Setting(.init())
        defer { setting.server.stop() }
        #expect(
            try await setting.run(kind).withoutSent
                == [.created(1)] + questions(kind, [0]) + [.informational(1, 104)] + Self.end)
        #expect(setting.server.requests == ["POST /"])
    }

    // RES-13, RES-15: a server that does not offer it, or in another version, is taken at its word
    @Test("a server that does not offer to go on", arguments: [nil, 7])
    func aServerThatDoesNotOfferToGoOn(version: Int?) async throws {
        var options = ResumableUploadServer.Options(cuts: [300_000])
        options.offers = version != nil
        options.version = version ?? 8
        let setting = try Setting(options)
        defer { setting.server.stop() }
        let calls = try await setting.run(.file)
        #expect(calls.failure == .networkConnectionLost)
        #expect(setting.server.requests == ["POST /"])
    }

    // RES-18
    @Test("other tasks and methods do not offer resumption", arguments: ["data", "OPTIONS", "own"])
    func otherTasksAndMethodsDoNotOfferResumption(what: String) async throws {
        let server = try ScriptedServer.weighing()
        defer { server.stop() }
        let session = URLSession { _ in }
        let url = server.url()
        switch what {
        case "data":
            _ = try await session.data(
                for: URLRequest(url: url).with {
                    $0.httpMethod = "PUT"
                    $0.httpBody = Data("x".utf8)
                })
        case "OPTIONS":
            _ = try await session.upload(
                for: URLRequest(url: url).with { $0.httpMethod = "OPTIONS" }, from: Data("x".utf8))
        default:
            _ = try await session.upload(
                for: URLRequest(url: url).with {
                    $0.httpMethod = "PUT"
                    $0.setValue("?0", forHTTPHeaderField: "Upload-Complete")
                }, from: Data("x".utf8))
        }
        let names = server.requests.flatMap(\.fields).map { $0.name.lowercased() }.filter { $0.hasPrefix("upload-") }
        #expect(names == (what == "own" ? ["upload-complete"] : []))
        session.invalidateAndCancel()
    }

    // RES-14, R-6: the offer comes from where the redirect led
    @Test("an upload that was redirected", arguments: Kind.allCases)
    func anUploadThatWasRedirected(kind: Kind) async throws {
        var options = ResumableUploadServer.Options(cuts: [400_000])
        options.redirects = true
        let setting = try Setting(options)
        defer { setting.server.stop() }
        #expect(
            try await setting.run(kind).withoutSent
                == [.created(1)] + questions(kind, [0]) + [.redirect(1, 307)] + questions(kind, [0]) + [
                    .informational(1, 104)
                ] + questions(kind, [400_000]) + Self.end)
        #expect(
            setting.server.requests == [
                "POST /", "POST /moved", "HEAD /uploads/0", "PATCH /uploads/0 from 400000",
            ])
        #expect(setting.server.uploads.map(\.bytes) == [Data(Self.body)])
    }

    // RES-16: the server has forgotten it, is busy, or says where it is
    @Test("a server that forgets", arguments: Kind.allCases) func aServerThatForgets(kind: Kind) async throws {
        var options = ResumableUploadServer.Options(cuts: [300_000])
        options.losses = 1
        let setting = try Setting(options)
        defer { setting.server.stop() }
        _ = try await setting.run(kind)
        #expect(setting.server.requests == ["POST /", "HEAD /uploads/0", "POST /"])
        #expect(setting.server.uploads.last?.bytes == Data(Self.body))
    }

    // RES-16, RES-17
    @Test("a server that is busy for a moment") func aServerThatIsBusyForAMoment() async throws {
        var options = ResumableUploadServer.Options(cuts: [300_000])
        options.refusals = [503]
        let setting = try Setting(options)
        defer { setting.server.stop() }
        #expect(try await setting.run(.file).withoutSent == [.created(1), .informational(1, 104)] + Self.end)
        #expect(setting.server.uploads.map(\.bytes) == [Data(Self.body)])
    }

    // RES-16, AUTH-4: a refusal of the user is a challenge, or the response of the task
    @Test("a server that asks for credentials before it resumes", arguments: [(401, true), (401, false), (403, false)])
    func aServerThatAsksForCredentials(status: Int, isAnswered: Bool) async throws {
        var options = ResumableUploadServer.Options(cuts: [300_000])
        options.refusals = [status]
        var setting = try Setting(options)
        defer { setting.server.stop() }
        if isAnswered {
            let url = setting.server.url()
            let space = URLProtectionSpace(
                host: try #require(url.host), port: try #require(url.port), protocol: "http", realm: "x",
                authenticationMethod: NSURLAuthenticationMethodHTTPBasic)
            let storage = URLCredentialStorage()
            storage.setDefaultCredential(
                URLCredential(user: "u", password: "p", persistence: .forSession), for: space)
            setting.configure = { $0.urlCredentialStorage = storage }
        }
        let stepped = try SteppedLoop()
        let session = setting.session(on: stepped)
        _ = setting.start(.file, session)
        session.finishTasksAndInvalidate()
        let calls = try await setting.callsUntilInvalid(on: stepped).withoutSent
        let refused: [Call] = [.response(1, status), .metrics(1), .completed(1, nil), .invalid]
        #expect(calls == [.created(1), .informational(1, 104)] + (isAnswered ? Self.end : refused))
        let heads = setting.server.scripted.requests.filter { $0.method == "HEAD" }
        #expect(heads.map { $0["Authorization"] } == (isAnswered ? [nil, "Basic dTpw"] : [nil]))
    }

    // RES-21
    @Test("a server that takes little at a time", arguments: Kind.allCases)
    func aServerThatTakesLittleAtATime(kind: Kind) async throws {
        var options = ResumableUploadServer.Options(cuts: [100_000])
        options.limit = "max-append-size=300000"
        options.mostOfRequest = 300_000
        let setting = try Setting(options)
        defer { setting.server.stop() }
        _ = try await setting.run(kind)
        let appends = [
            "POST /", "HEAD /uploads/0", "PATCH /uploads/0 from 100000", "PATCH /uploads/0 from 400000",
            "PATCH /uploads/0 from 700000",
        ]
        #expect(Array(setting.server.requests.prefix(5)) == appends)
        // That a stream of unknown length is over shows when nothing more comes of it: in the first request, if the
        // kernel took all of that before the server cut it, else behind the last piece.
        let more = setting.server.requests.dropFirst(5)
        #expect(more.allSatisfy { $0 == "PATCH /uploads/0 from 1000000" })
        #expect(more.count == 0 || kind == .stream && more.count == 2)
        #expect(setting.server.uploads.map(\.bytes) == [Data(Self.body)])
    }

    // RES-21
    @Test("a server that wants no more than less") func aServerThatWantsNoMoreThanLess() async throws {
        var options = ResumableUploadServer.Options()
        options.limit = "max-size=1000"
        let setting = try Setting(options)
        defer { setting.server.stop() }
        #expect(try await setting.run(.file).failure == .dataLengthExceedsMaximum)
    }

    // T-14, RES-16: totals are of the whole, and true after a step back
    @Test("progress callbacks") func progressCallbacks() async throws {
        var options = ResumableUploadServer.Options(cuts: [300_000])
        options.progress = 100_000
        let setting = try Setting(options)
        defer { setting.server.stop() }
        _ = try await setting.run(.data)
        let sent = setting.delegate.sent.events
        #expect(sent.last?[1] == Self.size)
        #expect(sent.allSatisfy { $0[2] == Self.size && $0[1] <= Self.size })
        // The second part begins where the server said that it was.
        #expect(sent.contains { $0[1] - $0[0] == 300_000 })
    }

    // RES-14, RES-19: a server may report its progress as often as it likes
    @Test("frequent progress callbacks") func frequentProgressCallbacks() async throws {
        let server = try ScriptedServer { connection in
            let request = try connection.readRequest()
            for count in 1...100 {
                try connection.send(
                    "HTTP/1.1 104 X\r\nUpload-Draft-Interop-Version: 8\r\nUpload-Offset: \(count)\r\n\r\n")
            }
            try connection.send(.text("all"), to: request)
            try connection.waitForClose()
        }
        defer { server.stop() }
        let delegate = RecordingUploadDelegate()
        let session = URLSession(delegate)
        session.uploadTask(with: UploadRun(server: server).request, from: Data(count: 100)).resume()
        session.finishTasksAndInvalidate()
        let calls = try await delegate.callsUntilInvalid()
        #expect(calls.failure == nil)
        #expect(calls.count { $0 == .informational(1, 104) } == 100)
    }

    // R-1, RES-17: a limit for redirects is one for each request
    @Test("each request of an upload may be redirected") func eachRequestIsRedirected() async throws {
        let received = Watched<[UInt8]>([])
        let server = try ScriptedServer { connection in
            while let request = try connection.nextRequest() {
                let version = "Upload-Draft-Interop-Version: 8\r\n"
                switch (request.method, request.path) {
                case (_, "/"):
                    let limit = "Upload-Limit: max-append-size=10\r\n"
                    try connection.send("HTTP/1.1 104 X\r\n\(version)Location: /up\r\n\(limit)\r\n")
                    return connection.close()
                case (_, "/up"):
                    try connection.send(CannedResponse.redirect(to: "/node/up", status: 308), to: request)
                case ("HEAD", _):
                    let offset = "Upload-Offset: \(received.current.count)\r\nUpload-Complete: ?0\r\n"
                    try connection.send("HTTP/1.1 204 X\r\n\(version)\(offset)\r\n")
                default:
                    received.withValue { $0 += request.body }
                    let isComplete = received.current.count == 300
                    let offset = "Upload-Offset: \(received.current.count)\r\n"
                    let end = "Upload-Complete: ?\(isComplete ? 1 : 0)\r\nContent-Length: 0\r\n\r\n"
                    try connection.send("HTTP/1.1 200 OK\r\n\(version)\(offset)\(end)")
                }
            }
        }
        defer { server.stop() }
        let body = [UInt8].pattern(count: 300)
        let calls = try await UploadRun(server: server).calls(RecordingUploadDelegate()) {
            $0.uploadTask(with: $1, from: Data(body))
        }
        #expect(calls.failure == nil)
        #expect(received.current == body)
    }

    // RES-13
    @Test("a file that has changed meanwhile", arguments: ["longer", "shorter", "touched"])
    func aFileThatHasChangedMeanwhile(how: String) async throws {
        let setting = try Setting(.init(cuts: [300_000]))
        defer { setting.server.stop() }
        let file = setting.file
        setting.delegate.during = { call, _, _ in
            guard case .informational = call else { return }
            switch how {
            case "longer": truncate(file.path, 2_000_000)
            case "shorter": truncate(file.path, 999_999)
            default: utimensat(AT_FDCWD, file.path, nil, 0)
            }
        }
        let calls = try await setting.run(.file)
        #expect(calls.failure == .requestBodyStreamExhausted)
    }

    // MARK: Resume data

    private static var stalling: ResumableUploadServer.Options {
        var options = ResumableUploadServer.Options()
        options.stall = 300_000
        return options
    }

    /// Uploads until the server has 300,000 bytes, and returns resume data.
    private func interrupted(_ kind: Kind, _ setting: Setting) async throws -> Data? {
        let session = URLSession(setting.delegate, setting.configure)
        let task = setting.start(kind, session)
        try await setting.server.hasStalled.wait()
        try await setting.delegate.calls.wait(for: .informational(1, 104))
        let data = await task.cancelByProducingResumeData()
        session.finishTasksAndInvalidate()
        let calls = try await setting.delegate.callsUntilInvalid()
        #expect(calls.failure == .cancelled)
        #expect((task.error as? URLError)?.uploadTaskResumeData == data)
        return data
    }

    // RES-13, RES-16, RES-20
    @Test("cancelled and resumed", arguments: Kind.allCases)
    func cancelledAndResumed(kind: Kind) async throws {
        let setting = try Setting(Self.stalling)
        defer { setting.server.stop() }
        let data = try #require(try await interrupted(kind, setting))
        let delegate = RecordingUploadDelegate(Self.body)
        let session = URLSession(delegate)
        let task = session.uploadTask(withResumeData: data)
        #expect(task.originalRequest?.httpMethod == "POST")
        #expect(task.originalRequest?.value(forHTTPHeaderField: "Content-Type") == "text/x")
        task.resume()
        session.finishTasksAndInvalidate()
        let calls = try await delegate.callsUntilInvalid().withoutSent
        #expect(calls.filter { if case .needsStream = $0 { false } else { true } } == [.created(1)] + Self.end)
        #expect(setting.server.uploads.map(\.bytes) == [Data(Self.body)])
        #expect(setting.server.faults == [])
    }

    // RES-10, RES-13, MISC-20: what is neither URL, method nor field
    @Test("the options of a request follow its resume data") func optionsOfARequest() async throws {
        var setting = try Setting(Self.stalling)
        defer { setting.server.stop() }
        setting.change = {
            $0.httpShouldHandleCookies = false
            $0.attribution = .user
            $0.mainDocumentURL = URL(string: "http://a.example/")
        }
        let data = try #require(try await interrupted(.file, setting))
        let session = URLSession { _ in }
        let task = session.uploadTask(withResumeData: data)
        let request = try #require(task.originalRequest)
        #expect(!request.httpShouldHandleCookies)
        #expect(request.attribution == .user)
        #expect(request.mainDocumentURL?.absoluteString == "http://a.example/")
        session.invalidateAndCancel()
    }

    // RES-10, RES-14, RES-16: the secrets are those of the session, and what is created anew can resume again
    @Test("resumed in a session with secrets", arguments: [false, true])
    func resumedInASessionWithSecrets(forgets: Bool) async throws {
        var options = Self.stalling
        options.losses = forgets ? 1 : 0
        let setting = try Setting(options)
        defer { setting.server.stop() }
        let data = try #require(try await interrupted(.file, setting))
        let calls = EventRecorder<Call>()
        let session = URLSession { $0.httpAdditionalHeaders = ["Authorization": "Bearer s"] }
        session.uploadTask(withResumeData: data, completionHandler: calls.handler).resume()
        #expect(try await calls.waitFor(count: 1) == [.handled("\(Self.size)", 200, nil)])
        session.invalidateAndCancel()
        let last = forgets ? "POST /" : "PATCH /uploads/0 from 300000"
        #expect(setting.server.requests == ["POST /", "HEAD /uploads/0", last])
        #expect(setting.server.scripted.requests.map { $0["Authorization"] } == [nil, "Bearer s", "Bearer s"])
        // The server requires the fields of the protocol.
        #expect(setting.server.faults == [])
        #expect(setting.server.uploads.last?.bytes == Data(Self.body))
    }

    // RES-13
    @Test("resumed with a handler and with await") func resumedWithAHandlerAndWithAwait() async throws {
        let setting = try Setting(Self.stalling)
        defer { setting.server.stop() }
        let data = try #require(try await interrupted(.file, setting))
        let calls = EventRecorder<Call>()
        let session = URLSession { _ in }
        session.uploadTask(withResumeData: data, completionHandler: calls.handler).resume()
        #expect(try await calls.waitFor(count: 1) == [.handled("\(Self.size)", 200, nil)])
        session.invalidateAndCancel()
        #expect(setting.server.uploads.map(\.bytes) == [Data(Self.body)])
    }

    // RES-13: of a task that never ran, the same again
    @Test("cancelled before it went on") func cancelledBeforeItWentOn() async throws {
        let setting = try Setting(Self.stalling)
        defer { setting.server.stop() }
        let data = try #require(try await interrupted(.file, setting))
        let session = URLSession { _ in }
        let task = session.uploadTask(withResumeData: data)
        let again = try #require(await task.cancelByProducingResumeData())
        let calls = EventRecorder<Call>()
        session.uploadTask(withResumeData: again, completionHandler: calls.handler).resume()
        #expect(try await calls.waitFor(count: 1) == [.handled("\(Self.size)", 200, nil)])
        session.invalidateAndCancel()
    }

    // RES-13
    @Test("no resume data where nothing was offered") func noResumeDataWhereNothingWasOffered() async throws {
        let hasHead = Signal("a head")
        let server = try ScriptedServer { connection in
            _ = try connection.readRequestHead()
            hasHead.fire()
            try connection.waitForClose()
        }
        defer { server.stop() }
        let session = URLSession { _ in }
        let task = session.uploadTask(with: UploadRun(server: server).request, from: Data(count: 8 << 20))
        task.resume()
        try await hasHead.wait()
        #expect(await task.cancelByProducingResumeData() == nil)
        #expect(await task.cancelByProducingResumeData() == nil)
        session.invalidateAndCancel()
        try await server.connection(0).waitForEnd()
    }

    // RES-13: `cancel()` produces none
    @Test("resume data of an upload that fails", arguments: [true, false])
    func resumeDataOfAnUploadThatFails(cancels: Bool) async throws {
        let setting = try Setting(Self.stalling)
        defer { setting.server.stop() }
        let server = try ScriptedServer { connection in
            _ = try connection.readRequestHead()
            try connection.send(
                "HTTP/1.1 104 X\r\nUpload-Draft-Interop-Version: 8\r\nLocation: /uploads/0\r\n\r\n")
            try connection.stopReading()
        }
        defer { server.stop() }
        let delegate = RecordingUploadDelegate()
        if cancels {
            delegate.during = { call, _, task in if case .informational = call { task?.cancel() } }
        }
        let session = URLSession(delegate) { $0.timeoutIntervalForRequest = 0.5 }
        let task = session.uploadTask(with: UploadRun(server: server).request, fromFile: setting.file)
        task.resume()
        session.finishTasksAndInvalidate()
        let calls = try await delegate.callsUntilInvalid()
        #expect(calls.failure == (cancels ? .cancelled : .timedOut))
        #expect(((task.error as? URLError)?.uploadTaskResumeData == nil) == cancels)
        #expect((task.error as? URLError)?.downloadTaskResumeData == nil)
    }

    // RES-8, RES-13
    @Test("garbage for resume data", arguments: [0, 1, 2, 3]) func garbageForResumeData(kind: Int) async throws {
        let garbage =
            switch kind {
            case 0: Data()
            case 1: Data([UInt8].pattern(count: 1000))
            case 2: Data.propertyList(levels: 200_000)
            default:
                try PropertyListSerialization.data(
                    fromPropertyList: ["version": 1, "kind": "upload", "url": "x"], format: .binary, options: 0)
            }
        let calls = EventRecorder<Call>()
        let session = URLSession { _ in }
        session.uploadTask(withResumeData: garbage, completionHandler: calls.handler).resume()
        #expect(try await calls.waitFor(count: 1) == [.handled(nil, nil, .unsupportedURL)])
        session.invalidateAndCancel()
    }

    // RES-13: the file is not what it was, or gone
    @Test("resume data of a file that has changed", arguments: [true, false])
    func resumeDataOfAFileThatHasChanged(isGone: Bool) async throws {
        let setting = try Setting(Self.stalling)
        defer { setting.server.stop() }
        let data = try #require(try await interrupted(.file, setting))
        if isGone { unlink(setting.file.path) } else { truncate(setting.file.path, 1_000_001) }
        let calls = EventRecorder<Call>()
        let session = URLSession { _ in }
        session.uploadTask(withResumeData: data, completionHandler: calls.handler).resume()
        #expect(
            try await calls.waitFor(count: 1) == [
                .handled(nil, nil, isGone ? .fileDoesNotExist : .requestBodyStreamExhausted)
            ])
        session.invalidateAndCancel()
    }

    // RES-10, RES-13: no credentials
    @Test("resume data holds no secrets") func resumeDataHoldsNoSecrets() async throws {
        var setting = try Setting(Self.stalling)
        setting.fields = ["Authorization": "Bearer sesame", "Cookie": "a=sesame", "X-Own": "mine"]
        setting.userInformation = "ali:sesame@"
        defer { setting.server.stop() }
        let data = try #require(try await interrupted(.file, setting))
        let text = String(decoding: data, as: UTF8.self)
        #expect(text.contains("mine"))
        #expect(!text.contains("sesame"))
    }

    // T-2, RES-17: suspended while it waits for its next try
    @Test("suspended between two tries") func suspendedBetweenTwoTries() async throws {
        var options = ResumableUploadServer.Options(cuts: [300_000])
        options.refusals = [503, 503]
        let setting = try Setting(options)
        defer { setting.server.stop() }
        let stepped = try SteppedLoop()
        let session = setting.session(on: stepped)
        let task = setting.start(.file, session)
        session.finishTasksAndInvalidate()
        try await stepped.waitForTimer(in: TimeLimits.seconds(1))
        #expect(setting.server.requests.count == 2)
        task.suspend()
        task.resume()
        #expect(try await setting.callsUntilInvalid(on: stepped).withoutSent.suffix(5) == Self.end)
    }

    // T-5, RES-17
    @Test("cancelled between two tries") func cancelledBetweenTwoTries() async throws {
        var options = ResumableUploadServer.Options(cuts: [300_000])
        options.refusals = Array(repeating: 503, count: 10)
        let setting = try Setting(options)
        defer { setting.server.stop() }
        let stepped = try SteppedLoop()
        let session = setting.session(on: stepped)
        let task = setting.start(.file, session)
        session.finishTasksAndInvalidate()
        try await stepped.waitForTimer(in: TimeLimits.seconds(1))
        #expect(setting.server.requests.count == 2)
        task.cancel()
        #expect(
            try await setting.delegate.callsUntilInvalid().withoutSent == [
                .created(1), .informational(1, 104), .metrics(1), .completed(1, .cancelled), .invalid,
            ])
    }
}
