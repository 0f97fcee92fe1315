import Foundation
import TestSupport
import Testing
import URLLoading

/// The selection of protocol classes, and the requests they get.
@Suite(.leavesNothing) struct URLProtocolTests {
    private func session() -> URLSession { URLSession { $0.usesScripts() } }

    private func text(_ script: ScriptedProtocol.Script, _ session: URLSession) async throws -> String {
        String(decoding: try await session.data(from: script.url()).0, as: UTF8.self)
    }

    // MARK: The choice of the protocol

    private class Answering: ScriptedProtocol, @unchecked Sendable {
        class var name: String { "" }
        override func startLoading() { answer(Self.name) }
        override func stopLoading() {}
    }

    private final class First: Answering, @unchecked Sendable { override class var name: String { "first" } }
    private final class Second: Answering, @unchecked Sendable { override class var name: String { "second" } }
    private final class Third: Answering, @unchecked Sendable { override class var name: String { "third" } }

    // C-28, MISC-18: the configuration's own first, in their order, then the one that was registered last
    @Test("the order of protocol classes") func theOrderOfProtocolClasses() async throws {
        let script = ScriptedProtocol.script { _ in }
        #expect(URLProtocol.registerClass(First.self))
        #expect(URLProtocol.registerClass(Second.self))
        defer {
            URLProtocol.unregisterClass(First.self)
            URLProtocol.unregisterClass(Second.self)
        }
        #expect(try await text(script, URLSession { _ in }) == "second")
        #expect(try await text(script, URLSession { $0.protocolClasses = [Third.self, First.self] }) == "third")
        #expect(try await text(script, .shared) == "second")
        URLProtocol.unregisterClass(Second.self)
        #expect(try await text(script, URLSession { _ in }) == "first")
        URLProtocol.unregisterClass(First.self)
        let error = await #expect(throws: URLError.self) { try await text(script, URLSession { _ in }) }
        #expect(error?.code == .unsupportedURL)
    }

    // C-28, MISC-18: however often it was registered
    @Test("an unregistered class is not queried any more") func anUnregisteredClass() async throws {
        let script = ScriptedProtocol.script { _ in }
        for protocolClass in [First.self, First.self, Second.self, First.self] as [AnyClass] {
            #expect(URLProtocol.registerClass(protocolClass))
        }
        defer {
            URLProtocol.unregisterClass(First.self)
            URLProtocol.unregisterClass(Second.self)
        }
        #expect(try await text(script, URLSession { _ in }) == "first")
        URLProtocol.unregisterClass(First.self)
        #expect(try await text(script, URLSession { _ in }) == "second")
        URLProtocol.unregisterClass(Second.self)
        let error = await #expect(throws: URLError.self) { try await text(script, URLSession { _ in }) }
        #expect(error?.code == .unsupportedURL)
    }

    // CACHE-26, CACHE-3: it may take its time
    @Test("no loop asks a cache of the caller's how much it takes") func cacheOfTheCallers() async throws {
        final class Own: URLCache, @unchecked Sendable {
            let threads = EventRecorder<String>()
            override var diskCapacity: Int {
                get {
                    let name = try? String(contentsOfFile: "/proc/thread-self/comm", encoding: .utf8)
                    threads.record(name ?? "")
                    return super.diskCapacity
                }
                set { super.diskCapacity = newValue }
            }
        }
        let cache = Own(memoryCapacity: 1 << 20, diskCapacity: 0, directory: nil)
        let script = ScriptedProtocol.script { loading in
            let url = loading.request.url ?? URL(fileURLWithPath: "/")
            let response = URLResponse(url: url, mimeType: nil, expectedContentLength: -1, textEncodingName: nil)
            loading.client?.urlProtocol(loading, didReceive: response, cacheStoragePolicy: .allowed)
            loading.load("kept")
            loading.finish()
        }
        let session = URLSession {
            $0.usesScripts()
            $0.urlCache = cache
        }
        #expect(try await text(script, session) == "kept")
        session.finishTasksAndInvalidate()
        #expect(cache.cachedResponse(for: URLRequest(url: script.url()))?.data == Data("kept".utf8))
        #expect(!cache.threads.events.isEmpty)
        #expect(!cache.threads.events.contains("url-loop\n"))
    }

    // MISC-19: also when all are there before the delegate gets one
    @Test("each piece of a protocol is delivered separately") func eachPieceAlone() async throws {
        let script = ScriptedProtocol.script { loading in
            loading.respond()
            for piece in ["a", "bc", "", "d"] { loading.load(piece) }
            loading.finish()
        }
        let delegate = RecordingDelegate()
        delegate.answer = { _, reply in
            reply(.allow)
            _ = try? script.calls.wait(for: "stop")
        }
        let session = URLSession(delegate) { $0.usesScripts() }
        session.dataTask(with: script.url()).resume()
        session.finishTasksAndInvalidate()
        #expect(try await delegate.callsUntilInvalid().contains(.completed(1, nil)))
        let pieces: [String] = delegate.calls.events.compactMap { call in
            guard case .data(_, let text) = call else { return nil }
            return text
        }
        #expect(pieces == ["a", "bc", "d"])
        #expect(script.calls.events == ["start", "stop"])
    }

    // MISC-18
    @Test("only protocols can be registered") func onlyProtocolsCanBeRegistered() {
        #expect(!URLProtocol.registerClass(NSObject.self))
        URLProtocol.unregisterClass(NSObject.self)
    }

    private final class Choosy: ScriptedProtocol, @unchecked Sendable {
        override class func canInit(with task: URLSessionTask) -> Bool { task.taskDescription == "mine" }
        override class func canInit(with request: URLRequest) -> Bool { true }
    }

    // MISC-18: the question about the task is the one that counts
    @Test("a class is asked about the task") func aClassIsAskedAboutTheTask() async throws {
        let script = ScriptedProtocol.script { $0.answer("yes") }
        let session = URLSession { $0.protocolClasses = [Choosy.self] }
        let calls = EventRecorder<Call>()
        let other = session.dataTask(with: script.url(), completionHandler: calls.handler)
        other.resume()
        try await calls.waitFor(count: 1)
        let mine = session.dataTask(with: script.url(), completionHandler: calls.handler)
        mine.taskDescription = "mine"
        mine.resume()
        #expect(
            try await calls.waitFor(count: 2) == [.handled(nil, nil, .unsupportedURL), .handled("yes", 200, nil)])
    }

    // MISC-18: without a claim the built-in loader is used
    @Test("unclaimed requests use the built-in loaders") func unclaimedRequestsUseTheBuiltInLoaders() async throws {
        let server = try ScriptedServer.answering(.text("from the server"))
        defer { server.stop() }
        let (data, response) = try await session().data(from: server.url())
        #expect(String(decoding: data, as: UTF8.self) == "from the server")
        #expect((response as? HTTPURLResponse)?.statusCode == 200)
    }

    private final class Intercepting: ScriptedProtocol, @unchecked Sendable {
        override class func canInit(with request: URLRequest) -> Bool { request.url?.scheme == "https" }
        override func startLoading() { answer("made up") }
        override func stopLoading() {}
    }

    // MISC-18, S-10: also in place of the system
    @Test("a class may claim https") func aClassMayClaimHTTPS() async throws {
        let session = URLSession { $0.protocolClasses = [Intercepting.self] }
        let (data, response) = try await session.data(from: try #require(URL(string: "https://example.invalid/x")))
        #expect(String(decoding: data, as: UTF8.self) == "made up")
        #expect(response.url?.absoluteString == "https://example.invalid/x")
    }

    // MARK: What it sees

    // T-68: bytes are a stream for a protocol, which shows no length, when it is asked and when it loads
    @Test("a body is a stream") func aBodyIsAStream() async throws {
        let script = ScriptedProtocol.script { loading in
            let stream = loading.request.httpBodyStream
            stream?.open()
            var bytes = [UInt8](repeating: 0, count: 64)
            let count = stream?.read(&bytes, maxLength: bytes.count) ?? -1
            stream?.close()
            let text = String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
            let length = loading.request.value(forHTTPHeaderField: "Content-Length") ?? ""
            loading.answer("\(loading.request.httpBody == nil) \(text) \(loading.request.httpMethod ?? "") \(length)")
        }
        var request = URLRequest(url: script.url())
        request.httpMethod = "POST"
        request.httpBody = Data("what is sent".utf8)
        let (data, _) = try await session().data(for: request)
        #expect(String(decoding: data, as: UTF8.self) == "true what is sent POST 12")
    }

    // T-68; in addition, each access returns a complete new stream
    @Test("a body is a new stream each time") func aBodyIsANewStreamEachTime() async throws {
        let script = ScriptedProtocol.script { $0.answer("\(readBody($0)), \(readBody($0)), \(readBody($0))") }
        var request = URLRequest(url: script.url())
        request.httpMethod = "POST"
        request.httpBody = Data("all".utf8)
        let (data, _) = try await session().data(for: request)
        #expect(String(decoding: data, as: UTF8.self) == "all, all, all")
        let (answer, _) = try await session().upload(for: request, from: Data("this".utf8))
        #expect(String(decoding: answer, as: UTF8.self) == "this, this, this")
        let folder = try TemporaryDirectory()
        let (last, _) = try await session().upload(for: request, fromFile: try folder.write("file", to: "file"))
        #expect(String(decoding: last, as: UTF8.self) == "file, file, file")
    }

    // Beyond T-68: what a protocol passes on to another session is sent whole, with its length
    @Test("a body that a protocol passes on") func aBodyThatAProtocolPassesOn() async throws {
        let server = try ScriptedServer.answering { .text("\($0["Content-Length"] ?? "none") \($0.bodyText)") }
        defer { server.stop() }
        let inner = URLSession { _ in }
        // The script outlives the test, so the server stays out of it.
        let url = server.url()
        let script = ScriptedProtocol.script { loading in
            var request = loading.request
            _ = readBody(loading)
            request.url = url
            inner.dataTask(with: request) { data, _, _ in
                loading.answer(String(decoding: data ?? Data(), as: UTF8.self))
            }.resume()
        }
        var request = URLRequest(url: script.url())
        request.httpMethod = "POST"
        request.httpBody = Data("all".utf8)
        let (data, _) = try await session().data(for: request)
        #expect(String(decoding: data, as: UTF8.self) == "3 all")
        inner.invalidateAndCancel()
    }

    // Beyond T-68, for T-51 and R-6: with its length, and again after a redirect and a challenge
    @Test("a file that a protocol passes on") func aFileThatAProtocolPassesOn() async throws {
        let server = try ScriptedServer.answering { request in
            if request.path == "/moved" { return .redirect(to: "/guarded", status: 307) }
            guard request["Authorization"] != nil else {
                return CannedResponse.text("who?", status: 401).with(field: "WWW-Authenticate", "Basic realm=\"r\"")
            }
            return .text("let in")
        }
        defer { server.stop() }
        let delegate = RecordingDelegate()
        delegate.challenge = { $1(.useCredential, URLCredential("ann", "s3cret")) }
        let inner = URLSession(delegate)
        // The script outlives the test, so the server stays out of it.
        let url = server.url("/moved")
        let expected = EventRecorder<Int64>()
        let script = ScriptedProtocol.script { loading in
            var request = loading.request
            request.url = url
            let task = inner.dataTask(with: request) { data, _, error in
                loading.answer("\(String(decoding: data ?? Data(), as: UTF8.self)) \(error.map { "\($0)" } ?? "")")
            }
            expected.record(task.countOfBytesExpectedToSend)
            task.resume()
        }
        var request = URLRequest(url: script.url())
        request.httpMethod = "POST"
        let folder = try TemporaryDirectory()
        let (data, _) = try await session().upload(for: request, fromFile: try folder.write("a file", to: "file"))
        #expect(String(decoding: data, as: UTF8.self) == "let in ")
        #expect(
            server.requests.map { "\($0.path) \($0["Content-Length"] ?? "none") \($0.bodyText)" } == [
                "/moved 6 a file", "/guarded 6 a file", "/guarded 6 a file",
            ])
        #expect(expected.events == [6])
        inner.invalidateAndCancel()
    }

    private final class Canonical: ScriptedProtocol, @unchecked Sendable {
        override class func canonicalRequest(for request: URLRequest) -> URLRequest {
            var request = request
            request.setValue("yes", forHTTPHeaderField: "X-Canonical")
            return request
        }
    }

    // MISC-18
    @Test("the canonical request is loaded") func theCanonicalRequestIsLoaded() async throws {
        let script = ScriptedProtocol.script {
            let isTasks = $0.task?.currentRequest?.value(forHTTPHeaderField: "X-Canonical") == nil
            $0.answer("\($0.request.value(forHTTPHeaderField: "X-Canonical") ?? "no") \(isTasks)")
        }
        #expect(try await text(script, URLSession { $0.protocolClasses = [Canonical.self] }) == "yes true")
    }

    // MISC-18: properties survive copying, and reach the protocol
    @Test("properties of requests") func propertiesOfRequests() async throws {
        let script = ScriptedProtocol.script {
            $0.answer((URLProtocol.property(forKey: "tag", in: $0.request) as? String) ?? "none")
        }
        let mutable = NSMutableURLRequest(url: script.url())
        URLProtocol.setProperty("tagged", forKey: "tag", in: mutable)
        URLProtocol.setProperty(1, forKey: "other", in: mutable)
        URLProtocol.removeProperty(forKey: "other", in: mutable)
        var request = mutable as URLRequest
        request.setValue("x", forHTTPHeaderField: "X-Field")
        #expect(URLProtocol.property(forKey: "tag", in: request) as? String == "tagged")
        #expect(URLProtocol.property(forKey: "other", in: request) == nil)
        #expect(URLProtocol.property(forKey: "tag", in: URLRequest(url: script.url())) == nil)
        let (data, _) = try await session().data(for: request)
        #expect(String(decoding: data, as: UTF8.self) == "tagged")
    }

    // MISC-18
    @Test("a protocol's own values") func aProtocolsOwnValues() throws {
        let url = try #require(URL(string: "mock://x/"))
        let request = URLRequest(url: url)
        let stored = CachedURLResponse(
            response: URLResponse(url: url, mimeType: nil, expectedContentLength: 0, textEncodingName: nil),
            data: Data())
        let made = URLProtocol(request: request, cachedResponse: stored, client: nil)
        #expect(made.request == request)
        #expect(made.cachedResponse === stored)
        #expect(made.client == nil)
        #expect(made.task == nil)
        let task = URLSession.shared.dataTask(with: url)
        let forTask = URLProtocol(task: task, cachedResponse: nil, client: nil)
        #expect(forTask.task === task)
        #expect(forTask.request == request)
        task.cancel()
        #expect(!URLProtocol.canInit(with: request))
        #expect(!URLProtocol.canInit(with: task))
        #expect(URLProtocol.canonicalRequest(for: request) == request)
        #expect(URLProtocol.requestIsCacheEquivalent(request, to: URLRequest(url: url)))
    }

    private final class Forgetful: URLProtocol {
        override class func canInit(with request: URLRequest) -> Bool { true }
    }

    // MISC-18: a class without a start of its own
    @Test("a class that loads nothing fails") func aClassThatLoadsNothingFails() async throws {
        let session = URLSession { $0.protocolClasses = [Forgetful.self] }
        let calls = EventRecorder<Call>()
        session.dataTask(with: try #require(URL(string: "mock://x/")), completionHandler: calls.handler).resume()
        #expect(try await calls.waitFor(count: 1) == [.handled(nil, nil, .unsupportedURL)])
    }

    // MARK: Every kind of result

    // T-46, T-48
    @Test("a completion handler") func aCompletionHandler() async throws {
        let calls = EventRecorder<Call>()
        let whole = ScriptedProtocol.script { loading in
            loading.respond(201)
            loading.load("a")
            loading.load("b")
            loading.finish()
        }
        session().dataTask(with: whole.url(), completionHandler: calls.handler).resume()
        #expect(try await calls.waitFor(count: 1) == [.handled("ab", 201, nil)])
        let nothing = ScriptedProtocol.script { $0.finish() }
        session().dataTask(with: nothing.url(), completionHandler: calls.handler).resume()
        #expect(try await calls.waitFor(count: 2).last == .handled("", nil, nil))
        let failing = ScriptedProtocol.script { loading in
            loading.respond()
            loading.load("lost")
            loading.fail(URLError(.timedOut))
        }
        session().dataTask(with: failing.url(), completionHandler: calls.handler).resume()
        #expect(try await calls.waitFor(count: 3).last == .handled(nil, 200, .timedOut))
    }

    // T-58
    @Test("bytes") func bytes() async throws {
        let script = ScriptedProtocol.script { $0.answer("line one\nline two\n") }
        let (bytes, response) = try await session().bytes(from: script.url())
        var lines: [String] = []
        for try await line in bytes.lines { lines.append(line) }
        #expect(lines == ["line one", "line two"])
        #expect((response as? HTTPURLResponse)?.statusCode == 200)
    }

    // T-57
    @Test("a download with an async caller") func aDownloadWithAnAsyncCaller() async throws {
        let script = ScriptedProtocol.script { $0.answer("in a file") }
        let (file, _) = try await session().download(from: script.url())
        defer { try? FileManager.default.removeItem(at: file) }
        #expect(try String(contentsOf: file, encoding: .utf8) == "in a file")
    }

    // T-65: the protocol cannot be stopped, and nothing of what it loads is lost
    @Test("more than a slow reader takes") func moreThanASlowReaderTakes() async throws {
        let piece = Data(repeating: 7, count: 64 * 1024)
        let script = ScriptedProtocol.script { loading in
            loading.respond()
            for _ in 0..<64 { loading.client?.urlProtocol(loading, didLoad: piece) }
            loading.finish()
        }
        let (bytes, _) = try await session().bytes(from: script.url())
        var count = 0
        for try await byte in bytes where byte == 7 { count += 1 }
        #expect(count == 64 * piece.count)
    }

    // MARK: Errors

    private struct OwnError: Error, Equatable { var number: Int }

    // MISC-18: an error of the protocol's is the task's
    @Test("an error of its own") func anErrorOfItsOwn() async throws {
        let script = ScriptedProtocol.script { $0.fail(OwnError(number: 7)) }
        await #expect(throws: OwnError(number: 7)) { try await session().data(from: script.url()) }
    }

    // ERR-2, ERR-14
    @Test("an error has the failing URL", arguments: [true, false]) func anErrorHasTheFailingURL(asObject: Bool)
        async throws
    {
        let script = ScriptedProtocol.script { loading in
            let info = ["k": "v"]
            loading.fail(
                asObject
                    ? NSError(domain: NSURLErrorDomain, code: NSURLErrorNotConnectedToInternet, userInfo: info)
                    : URLError(.notConnectedToInternet, userInfo: info))
        }
        let error = await #expect(throws: URLError.self) { try await session().data(from: script.url()) }
        #expect(error?.code == .notConnectedToInternet)
        #expect(error?.failingURL == script.url())
        #expect(error?.userInfo["k"] as? String == "v")
    }

    // MARK: Life

    private final class Mortal: ScriptedProtocol, @unchecked Sendable {
        static let lifecycle = EventRecorder<String>()
        override init(request: URLRequest, cachedResponse: CachedURLResponse?, client: (any URLProtocolClient)?) {
            super.init(request: request, cachedResponse: cachedResponse, client: client)
            Self.lifecycle.record("init")
        }
        override func stopLoading() { Self.lifecycle.record("stop") }
        deinit { Self.lifecycle.record("deinit") }
    }

    // MISC-18: an initializer of the subclass's is used, and nothing is kept after the end
    @Test("a protocol is released") func aProtocolIsReleased() async throws {
        let script = ScriptedProtocol.script { $0.answer("x") }
        _ = try await text(script, URLSession { $0.protocolClasses = [Mortal.self] })
        #expect(try await Mortal.lifecycle.waitFor(count: 3) == ["init", "stop", "deinit"])
    }

    // MISC-19, CACHE-27
    @Test("a stored response is still good") func aStoredResponseIsStillGood() async throws {
        let script = ScriptedProtocol.script { loading in
            guard let stored = loading.cachedResponse else { return loading.fail(URLError(.unknown)) }
            loading.client?.urlProtocol(loading, cachedResponseIsValid: stored)
        }
        let session = session()
        let response = try #require(
            HTTPURLResponse(url: script.url(), statusCode: 203, httpVersion: nil, headerFields: nil))
        session.configuration.urlCache?.storeCachedResponse(
            CachedURLResponse(response: response, data: Data("stored".utf8)), for: URLRequest(url: script.url()))
        let (data, shown) = try await session.data(from: script.url())
        #expect(String(decoding: data, as: UTF8.self) == "stored")
        #expect(shown === response)
        let calls = EventRecorder<Call>()
        session.dataTask(
            with: URLRequest(url: script.url(), cachePolicy: .reloadIgnoringLocalCacheData),
            completionHandler: calls.handler
        ).resume()
        #expect(try await calls.waitFor(count: 1) == [.handled(nil, nil, .unknown)])
    }

    // MARK: Uploads

    private func readBody(_ loading: ScriptedProtocol) -> String {
        guard let stream = loading.request.httpBodyStream else { return "no body" }
        stream.open()
        defer { stream.close() }
        var text: [UInt8] = []
        var bytes = [UInt8](repeating: 0, count: 64)
        while true {
            let count = stream.read(&bytes, maxLength: bytes.count)
            if count <= 0 { return String(decoding: text, as: UTF8.self) }
            text += bytes.prefix(count)
        }
    }

    // T-68, T-53: what an upload sends is a stream for a protocol, wherever it comes from
    @Test("an upload") func anUpload() async throws {
        let script = ScriptedProtocol.script { $0.answer("got \(readBody($0))") }
        var request = URLRequest(url: script.url())
        request.httpMethod = "PUT"
        request.httpBody = Data("ignored".utf8)
        let (data, _) = try await session().upload(for: request, from: Data("of data".utf8))
        #expect(String(decoding: data, as: UTF8.self) == "got of data")
        let folder = try TemporaryDirectory()
        let file = try folder.write("of a file", to: "file")
        let (answer, _) = try await session().upload(for: request, fromFile: file)
        #expect(String(decoding: answer, as: UTF8.self) == "got of a file")
    }

    private final class StreamingDelegate: NSObject, URLSessionDataDelegate, @unchecked Sendable {
        // Sendable because it never changes.
        let text: String?
        let said = EventRecorder<String>()

        init(_ text: String?) { self.text = text }

        func urlSession(
            _ session: URLSession, task: URLSessionTask,
            needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
        ) {
            said.record("asked")
            completionHandler(text.map { InputStream(data: Data($0.utf8)) })
        }

        func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
            said.record(String(decoding: data, as: UTF8.self))
        }

        func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
            said.record("end \(error?.urlErrorCode?.rawValue ?? 0)")
        }
    }

    // T-51, T-68; beyond them, the delegate is asked for the stream before the protocol starts
    @Test("a streamed upload", arguments: ["streamed", nil]) func aStreamedUpload(text: String?) async throws {
        let script = ScriptedProtocol.script { $0.answer("got \(readBody($0))") }
        let delegate = StreamingDelegate(text)
        let session = URLSession(delegate) { $0.usesScripts() }
        var request = URLRequest(url: script.url())
        request.httpMethod = "PUT"
        session.uploadTask(withStreamedRequest: request).resume()
        session.finishTasksAndInvalidate()
        let expected = text.map { ["asked", "got \($0)", "end 0"] } ?? ["asked", "end -1021"]
        #expect(try await delegate.said.waitFor(count: expected.count) == expected)
        if text == nil { #expect(script.calls.events == []) }
    }

    // MARK: The cache

    private final class CachingDelegate: NSObject, URLSessionDataDelegate, @unchecked Sendable {
        // Sendable because it never changes.
        let keeps: Bool
        let said = EventRecorder<String>()

        init(keeps: Bool) { self.keeps = keeps }

        func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
            said.record("data")
        }

        func urlSession(
            _ session: URLSession, dataTask: URLSessionDataTask, willCacheResponse proposedResponse: CachedURLResponse,
            completionHandler: @escaping @Sendable (CachedURLResponse?) -> Void
        ) {
            said.record("cache \(String(decoding: proposedResponse.data, as: UTF8.self))")
            completionHandler(keeps ? proposedResponse : nil)
        }

        func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
            said.record("end")
        }
    }

    private func cacheable(_ policy: URLCache.StoragePolicy, status: Int = 200) -> ScriptedProtocol.Script {
        ScriptedProtocol.script { loading in
            guard let url = loading.request.url,
                let response = HTTPURLResponse(url: url, statusCode: status, httpVersion: nil, headerFields: nil)
            else { return }
            loading.client?.urlProtocol(loading, didReceive: response, cacheStoragePolicy: policy)
            loading.load("kept")
            loading.finish()
            loading.finish()
        }
    }

    // MISC-19, T-42: asked after all data and before the end
    @Test("the delegate is asked about the cache", arguments: [true, false])
    func theDelegateIsAskedAboutTheCache(keeps: Bool) async throws {
        let script = cacheable(.allowedInMemoryOnly)
        let delegate = CachingDelegate(keeps: keeps)
        let session = URLSession(delegate) { $0.usesScripts() }
        let cache = session.configuration.urlCache
        session.dataTask(with: script.url()).resume()
        session.finishTasksAndInvalidate()
        #expect(try await delegate.said.waitFor(count: 3) == ["data", "cache kept", "end"])
        let stored = cache?.cachedResponse(for: URLRequest(url: script.url()))
        #expect(stored?.data == (keeps ? Data("kept".utf8) : nil))
        #expect(stored?.storagePolicy == (keeps ? .allowedInMemoryOnly : nil))
    }

    // MISC-19, CACHE-3, CACHE-20, T-47
    @Test(
        "what the cache keeps",
        arguments: [
            (URLCache.StoragePolicy.allowed, 200, nil, true), (.notAllowed, 200, nil, false),
            (.allowed, 404, nil, false), (.allowed, 206, "bytes=0-3", false), (.allowed, 206, nil, false),
            (.allowed, 200, "bytes=0-3", false),
        ])
    func cachedResponses(policy: URLCache.StoragePolicy, status: Int, range: String?, isKept: Bool) async throws {
        let script = cacheable(policy, status: status)
        let session = session()
        var request = URLRequest(url: script.url())
        request.setValue(range, forHTTPHeaderField: "Range")
        let (data, _) = try await session.data(for: request)
        #expect(data == Data("kept".utf8))
        let stored = session.configuration.urlCache?.cachedResponse(for: URLRequest(url: script.url()))
        #expect((stored != nil) == isKept)
    }
}
