import Foundation
import FoundationNetworking

/// A server that sends the head and a part of the body, and the rest when the case lets it.
private func slowServer(_ go: Locked<Bool>) throws -> Server {
    try Server { connection, server in
        guard let request = try connection.request() else { return }
        server.record(request)
        try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nfirst")
        while !go.value { usleep(5_000) }
        try connection.send("last")
        connection.waitForEnd()
    }
}

private let silent: @Sendable (Connection, Server) throws -> Void = { connection, _ in connection.waitForEnd() }

let taskCases: [Case] = [
    Case("T-2", name: "suspend nests: as many resumes are needed") {
        let server = try Server(Response(200, [], "a"))
        let recorder = Recorder()
        let task = makeSession(recorder).dataTask(with: server.url())
        task.suspend()
        task.resume()
        await quiet()
        try equal(server.connectionCount, 0, "connections after one resume")
        task.resume()
        await recorder.completion()
        try equal(text(recorder.seen.data), "a", "body")
    },
    Case("T-2", "T-7", name: "a task that is suspended in mid-body and resumed delivers the body once") {
        let go = Locked(false)
        let server = try slowServer(go)
        let recorder = Recorder()
        let task = makeSession(recorder).dataTask(with: server.url())
        task.resume()
        await until { recorder.seen.data.count == 5 }
        task.suspend()
        try equal(task.state, .suspended, "state")
        go.value = true
        await quiet()
        task.resume()
        await recorder.completion()
        try equal(recorder.seen.codes, [nil], "errors")
        try equal(text(recorder.seen.data), "firstlast", "body")
    },
    Case("T-2", "T-3", name: "resumes of a running task do not count") {
        let server = try Server(connections: silent)
        let task = makeSession().dataTask(with: server.url())
        for _ in 0..<3 { task.resume() }
        await until { server.connectionCount == 1 }
        try equal(task.state, .running, "state")
        task.suspend()
        try equal(task.state, .suspended, "state after one suspend")
    },
    Case("T-4", "CONN-16", name: "the timeout does not run while a task is suspended") {
        let go = Locked(false)
        let server = try slowServer(go)
        let recorder = Recorder()
        var request = URLRequest(url: server.url())
        request.timeoutInterval = 1
        let task = makeSession(recorder).dataTask(with: request)
        task.resume()
        await until { recorder.seen.data.count == 5 }
        task.suspend()
        await quiet(1800)
        try check(!recorder.isComplete, "it ended with \(recorder.seen.errors.map { code($0) ?? 0 })")
        go.value = true
        task.resume()
        await recorder.completion()
        try equal(recorder.seen.codes, [nil], "errors")
    },
    Case("T-5", "S-42", name: "cancel ends a running task with -999, once") {
        let server = try Server(connections: silent)
        let recorder = Recorder()
        let task = makeSession(recorder).dataTask(with: server.url())
        task.resume()
        await until { server.connectionCount == 1 }
        task.cancel()
        try check([.canceling, .completed].contains(task.state), "state: \(task.state.rawValue)")
        await recorder.completion()
        await quiet(100)
        try equal(recorder.seen.errors.map { code($0) }, [NSURLErrorCancelled], "errors")
        await until { task.state == .completed }
    },
    Case("T-5", name: "cancel in mid-body ends the task with -999, and the completion handler has no data") {
        let server = try slowServer(Locked(false))
        let outcome = Locked<Outcome?>(nil)
        let task = makeSession().dataTask(with: server.url()) {
            outcome.value = Outcome(data: $0, response: $1, error: $2 as NSError?)
        }
        task.resume()
        await until { server.requests.count == 1 }
        await quiet(100)
        task.cancel()
        await until { outcome.value != nil }
        try equal(outcome.value?.code, NSURLErrorCancelled, "error")
        try equal(outcome.value?.data, nil, "data")
    },
    Case("T-5", name: "cancel in a delegate callback ends the task with -999") {
        let server = try slowServer(Locked(false))
        let task = Locked<URLSessionTask?>(nil)
        let recorder = Recorder { $0.event = { if $0 == "data" { task.value?.cancel() } } }
        task.value = makeSession(recorder).dataTask(with: server.url())
        task.value?.resume()
        await recorder.completion()
        await quiet(100)
        try equal(recorder.seen.errors.map { code($0) }, [NSURLErrorCancelled], "errors")
    },
    Case("T-5", "T-7", name: "cancel while a redirect waits for its answer, which then comes too late") {
        let server = try Server { $0.path == "/" ? .redirect(302, to: "/new") : Response(200) }
        let task = Locked<URLSessionTask?>(nil)
        let recorder = Recorder {
            $0.redirect = { _, request in
                task.value?.cancel()
                usleep(200_000)
                return request
            }
        }
        task.value = makeSession(recorder).dataTask(with: server.url())
        task.value?.resume()
        await recorder.completion()
        await quiet()
        try equal(recorder.seen.errors.map { code($0) }, [NSURLErrorCancelled], "errors")
        try equal(server.lines, ["GET /"], "requests")
    },
    Case("T-5", "T-7", name: "cancel while a challenge waits for its answer, which then comes too late") {
        let server = try Server(Response(401, [("WWW-Authenticate", "Basic realm=\"r\"")]))
        let task = Locked<URLSessionTask?>(nil)
        let recorder = Recorder {
            $0.challenge = { _ in
                task.value?.cancel()
                usleep(200_000)
                return (.useCredential, URLCredential(user: "u", password: "p", persistence: .none))
            }
        }
        task.value = makeSession(recorder).dataTask(with: server.url())
        task.value?.resume()
        await recorder.completion()
        await quiet()
        try equal(recorder.seen.errors.map { code($0) }, [NSURLErrorCancelled], "errors")
        try equal(server.requests.count, 1, "requests")
    },
    Case("T-5", "T-7", name: "cancel while a response waits for its answer, which then comes too late") {
        let server = try slowServer(Locked(false))
        let recorder = Recorder { $0.response = { _ in nil } }
        let task = makeSession(recorder).dataTask(with: server.url())
        task.resume()
        await until { recorder.seen.responseHandler != nil }
        task.cancel()
        await recorder.completion()
        recorder.seen.responseHandler?(.allow)
        await quiet()
        try equal(recorder.seen.errors.map { code($0) }, [NSURLErrorCancelled], "errors")
        try equal(recorder.seen.data, Data(), "data")
    },
    Case("T-5", name: "a download and an upload that are cancelled end with -999, once") {
        let server = try slowServer(Locked(false))
        for isDownload in [true, false] {
            let recorder = Recorder()
            let session = makeSession(recorder)
            let task =
                isDownload
                ? session.downloadTask(with: server.url())
                : session.uploadTask(with: request(server.url(), "POST"), from: Data("a".utf8))
            let count = server.requests.count
            task.resume()
            await until { server.requests.count > count }
            task.cancel()
            await recorder.completion()
            await quiet(100)
            try equal(recorder.seen.errors.map { code($0) }, [NSURLErrorCancelled], "errors")
            try check(recorder.seen.location == nil, "a file")
        }
    },
    Case("T-5", name: "a suspended task can be cancelled") {
        let server = try slowServer(Locked(false))
        let recorder = Recorder()
        let task = makeSession(recorder).dataTask(with: server.url())
        task.resume()
        await until { recorder.seen.data.count == 5 }
        task.suspend()
        task.cancel()
        await recorder.completion()
        try equal(recorder.seen.errors.map { code($0) }, [NSURLErrorCancelled], "errors")
    },
    Case("T-6", name: "cancelling a task that was never resumed completes it with -999") {
        let recorder = Recorder()
        let task = makeSession(recorder).dataTask(with: try refusedURL())
        task.cancel()
        await recorder.completion()
        try equal(recorder.seen.errors.map { code($0) }, [NSURLErrorCancelled], "errors")
    },
    Case("T-7", name: "resume after cancel has no effect") {
        let server = try Server(Response(200))
        let recorder = Recorder()
        let task = makeSession(recorder).dataTask(with: server.url())
        task.cancel()
        task.resume()
        await recorder.completion()
        await quiet(100)
        try equal(recorder.seen.errors.map { code($0) }, [NSURLErrorCancelled], "errors")
        try equal(server.requests.count, 0, "requests")
    },
    Case("T-7", "MISC-25", name: "cancel after the end has no effect") {
        let server = try Server(Response(200))
        let recorder = Recorder()
        let task = await run(server.url(), recorder)
        await until { task.state == .completed }
        task.cancel()
        await quiet(200)
        try equal(recorder.seen.codes, [nil], "errors")
        try equal(task.state, .completed, "state")
        try check(task.error == nil, "error: \(String(describing: task.error))")
    },
    Case("T-7", name: "many cancels at once end the task once") {
        let server = try Server(connections: silent)
        let recorder = Recorder()
        let task = makeSession(recorder).dataTask(with: server.url())
        task.resume()
        await until { server.connectionCount == 1 }
        DispatchQueue.concurrentPerform(iterations: 8) { _ in task.cancel() }
        await recorder.completion()
        await quiet(100)
        try equal(recorder.seen.errors.map { code($0) }, [NSURLErrorCancelled], "errors")
    },
    Case("T-8", name: "task.error is the error that was delivered") {
        let recorder = Recorder()
        let task = await run(try refusedURL(), recorder)
        try equal(task.error as NSError?, recorder.seen.errors[0], "error")
    },
    Case("T-9", name: "a session keeps a resumed task without other references") {
        let server = try Server(Response(200, [], "a"))
        let recorder = Recorder()
        let session = makeSession(recorder)
        session.dataTask(with: server.url()).resume()
        await recorder.completion()
        try equal(text(recorder.seen.data), "a", "body")
    },
    Case("T-11", name: "task identifiers are unique in their session") {
        let session = makeSession()
        let url = try refusedURL()
        let identifiers = (0..<20).map { _ in session.dataTask(with: url).taskIdentifier }
        try equal(Set(identifiers).count, 20, "identifiers")
    },
    Case("T-12", name: "after a redirect, originalRequest has the first URL and currentRequest the last") {
        let server = try Server { $0.path == "/" ? .redirect(302, to: "/new") : Response(200) }
        let task = await run(server.url(), Recorder())
        try equal(task.originalRequest?.url, server.url(), "originalRequest")
        try equal(task.currentRequest?.url, server.url("/new"), "currentRequest")
        try equal(task.response?.url, server.url("/new"), "response")
    },
    Case("T-13", name: "task.response is nil before the response arrives") {
        let server = try Server(Response(200))
        let recorder = Recorder()
        let task = makeSession(recorder).dataTask(with: server.url())
        try check(task.response == nil, "not nil")
        task.resume()
        await recorder.completion()
        try equal((task.response as? HTTPURLResponse)?.statusCode, 200, "status")
    },
    Case("T-14", name: "body bytes of a data task are counted") {
        let server = try Server(Response(200, [], "hello world"))
        let task = await run(request(server.url(), "POST", body: "abc"), Recorder())
        try equal(task.countOfBytesSent, 3, "sent")
        try equal(task.countOfBytesExpectedToSend, 3, "expected to send")
        try equal(task.countOfBytesReceived, 11, "received")
        try equal(task.countOfBytesExpectedToReceive, 11, "expected to receive")
    },
    Case("T-14", name: "bytes are counted for a completion handler too") {
        let server = try Server(Response(200, [], "hello world"))
        let done = Locked(false)
        let task = makeSession().dataTask(with: request(server.url(), "POST", body: "abc")) { _, _, _ in
            done.value = true
        }
        task.resume()
        await until { done.value }
        try equal(task.countOfBytesSent, 3, "sent")
        try equal(task.countOfBytesReceived, 11, "received")
    },
    Case("T-15", name: "the length of an uploaded file is expected to be sent") {
        let server = try Server(Response(200))
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("body")
        try Data("file body".utf8).write(to: file)
        let recorder = Recorder()
        let task = makeSession(recorder).uploadTask(with: request(server.url(), "POST"), fromFile: file)
        task.resume()
        await recorder.completion()
        try equal(task.countOfBytesExpectedToSend, 9, "expected to send")
        try equal(task.countOfBytesSent, 9, "sent")
    },
    Case("T-15", name: "the length of a streamed body is unknown") {
        let server = try Server(Response(200))
        let recorder = Recorder { $0.stream = { InputStream(data: Data("stream".utf8)) } }
        let task = makeSession(recorder).uploadTask(withStreamedRequest: request(server.url(), "POST"))
        task.resume()
        await recorder.completion()
        try equal(task.countOfBytesExpectedToSend, NSURLSessionTransferSizeUnknown, "expected to send")
    },
    Case("T-16", name: "without Content-Length the expected length is -1") {
        let server = try Server(.raw("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nbody"))
        let recorder = Recorder()
        let task = await run(server.url(), recorder)
        try equal(task.countOfBytesExpectedToReceive, NSURLSessionTransferSizeUnknown, "countOfBytesExpectedToReceive")
        try equal(recorder.seen.responses.first?.expectedContentLength, -1, "expectedContentLength")
        try equal(text(recorder.seen.data), "body", "body")
    },
    Case("T-17", name: "the client expects unknown sizes") {
        let task = makeSession().dataTask(with: try refusedURL())
        try equal(task.countOfBytesClientExpectsToSend, NSURLSessionTransferSizeUnknown, "to send")
        try equal(task.countOfBytesClientExpectsToReceive, NSURLSessionTransferSizeUnknown, "to receive")
    },
    Case("T-19", name: "the default priority is 0.5, between low and high") {
        try equal(makeSession().dataTask(with: try refusedURL()).priority, 0.5, "priority")
        try check(
            0 < URLSessionTask.lowPriority && URLSessionTask.lowPriority < 0.5 && 0.5 < URLSessionTask.highPriority
                && URLSessionTask.highPriority < 1, "another order")
    },
    Case("T-21", name: "a task's progress is complete at its end") {
        let server = try Server(Response(200, [], "hello world"))
        let task = await run(server.url(), Recorder())
        try equal(task.progress.fractionCompleted, 1, "fractionCompleted")
    },
    Case("T-21", name: "a task's progress follows the body") {
        let go = Locked(false)
        let server = try slowServer(go)
        let recorder = Recorder()
        let task = makeSession(recorder).dataTask(with: server.url())
        task.resume()
        await until { recorder.seen.data.count == 5 }
        let fraction = task.progress.fractionCompleted
        go.value = true
        await recorder.completion()
        try check(fraction > 0.2 && fraction < 0.9, "\(fraction) after 5 of 9 bytes")
    },
    Case("T-21", name: "progress.cancel cancels the task") {
        let server = try Server(connections: silent)
        let recorder = Recorder()
        let task = makeSession(recorder).dataTask(with: server.url())
        task.resume()
        await until { server.connectionCount == 1 }
        task.progress.cancel()
        await recorder.completion()
        try equal(code(recorder.seen.errors[0]), NSURLErrorCancelled, "error")
    },
    Case("T-21", name: "progress.pause and resume suspend and resume the task") {
        let server = try Server(connections: silent)
        let task = makeSession().dataTask(with: server.url())
        task.resume()
        await until { server.connectionCount == 1 }
        task.progress.pause()
        await quiet(100)
        try equal(task.state, .suspended, "state after pause")
        task.progress.resume()
        await quiet(100)
        try equal(task.state, .running, "state after resume")
    },
    Case("S-79", "T-11", name: "tasks that threads make at once have different identifiers") {
        let session = makeSession()
        let url = try refusedURL()
        let identifiers = Locked<[Int]>([])
        DispatchQueue.concurrentPerform(iterations: 200) { _ in
            let identifier = session.dataTask(with: url).taskIdentifier
            identifiers.withLock { $0.append(identifier) }
        }
        try equal(Set(identifiers.value).count, 200, "identifiers")
    },
    Case("T-23", "T-24", name: "a task's delegate is asked before the session's") {
        let server = try Server { $0.path == "/" ? .redirect(302, to: "/new") : Response(200, [], "a") }
        let forTask = Recorder()
        let forSession = Recorder()
        let task = makeSession(forSession).dataTask(with: server.url())
        task.delegate = forTask
        task.resume()
        await until { forTask.isComplete || forSession.isComplete }
        try equal(forSession.events, [], "callbacks of the session's delegate")
        try equal(
            forTask.events.filter { $0 != "metrics" && $0 != "cache" }, ["redirect", "response", "data", "complete"],
            "callbacks of the task's delegate")
    },
    Case("T-24", name: "methods that a task's delegate lacks are called on the session's") {
        final class OnlyRedirects: NSObject, URLSessionTaskDelegate {
            let count = Locked(0)
            func urlSession(
                _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
                newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
            ) {
                count.withLock { $0 += 1 }
                completionHandler(request)
            }
        }
        let server = try Server { $0.path == "/" ? .redirect(302, to: "/new") : Response(200, [], "a") }
        let forTask = OnlyRedirects()
        let forSession = Recorder()
        let task = makeSession(forSession).dataTask(with: server.url())
        task.delegate = forTask
        task.resume()
        await until { forSession.isComplete }
        try equal(forTask.count.value, 1, "redirects of the task's delegate")
        try equal(
            forSession.events.filter { $0 != "metrics" && $0 != "cache" }, ["response", "data", "complete"],
            "callbacks of the session's delegate")
    },
    Case("T-23", name: "task.delegate is nil unless one is set") {
        let task = makeSession(Recorder()).dataTask(with: try refusedURL())
        try check(task.delegate == nil, "not nil")
    },
]
