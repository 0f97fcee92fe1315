import Foundation
import FoundationNetworking

let sessionCases: [Case] = [
    Case("S-16", name: "the shared session has no delegate") {
        try check(URLSession.shared.delegate == nil, "it has one")
    },
    Case("C-35", name: "the shared session cannot be invalidated") {
        let server = try Server(Response(200, [], "a"))
        URLSession.shared.finishTasksAndInvalidate()
        URLSession.shared.invalidateAndCancel()
        try equal(await URLSession.shared.load(server.url()).summary, "200 a", "load")
    },
    Case("S-18", name: "an ephemeral session keeps cookies from the shared storage") {
        let server = try Server(Response(200, [("Set-Cookie", "a=b; Path=/; Max-Age=60")]))
        let session = makeSession()
        _ = await session.load(server.url())
        try equal(session.configuration.httpCookieStorage?.cookies?.count, 1, "cookies of the session")
        try equal(HTTPCookieStorage.shared.cookies?.count ?? 0, 0, "cookies of the shared storage")
    },
    Case("S-26", name: "a configuration is copied when its session is made") {
        let server = try Server(Response(200))
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpAdditionalHeaders = ["X-Name": "before"]
        let session = URLSession(configuration: configuration)
        configuration.httpAdditionalHeaders = ["X-Name": "after"]
        _ = await session.load(server.url())
        try equal(server.requests.first?.value("X-Name"), "before", "X-Name")
    },
    Case("S-27", name: "session.configuration is a copy") {
        let session = makeSession { $0.httpAdditionalHeaders = ["X-Name": "before"] }
        session.configuration.httpAdditionalHeaders = ["X-Name": "after"]
        try equal(session.configuration.httpAdditionalHeaders as? [String: String], ["X-Name": "before"], "fields")
    },
    Case("S-28", name: "sessionDescription and taskDescription keep their text") {
        let session = makeSession()
        session.sessionDescription = "a"
        let task = session.dataTask(with: try refusedURL())
        task.taskDescription = "b"
        try equal(session.sessionDescription, "a", "sessionDescription")
        try equal(task.taskDescription, "b", "taskDescription")
    },
    Case("S-30", name: "a new task is suspended and sends nothing") {
        let server = try Server(Response(200))
        let task = makeSession().dataTask(with: server.url())
        await quiet()
        try equal(task.state, .suspended, "state")
        try equal(server.connectionCount, 0, "connections")
    },
    Case("S-39", name: "a status of 404 or 500 is not an error") {
        for status in [404, 500] {
            let server = try Server(Response(status, [], "a"))
            try equal(await makeSession().load(server.url()).summary, "\(status) a", "load")
        }
    },
    Case("S-66", name: "the delegate of a data task receives the body in pieces") {
        let server = try Server { connection, _ in
            _ = try connection.request()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nfirst")
            usleep(200_000)
            try connection.send("2")
            connection.waitForEnd()
        }
        let count = Locked(0)
        let recorder = Recorder { $0.event = { if $0 == "data" { count.withLock { $0 += 1 } } } }
        await run(server.url(), recorder)
        try equal(text(recorder.seen.data), "first2", "body")
        try check(count.value >= 2, "one piece")
    },
    Case("S-74", name: "a completion handler is called on the delegate queue") {
        let server = try Server(Response(200))
        let queue = OperationQueue()
        let right = Locked<Bool?>(nil)
        makeSession(queue: queue).dataTask(with: server.url()) { _, _, _ in
            right.value = OperationQueue.current === queue
        }.resume()
        await until { right.value != nil }
        try equal(right.value, true, "on the queue")
    },
    Case("S-74", name: "delegate methods are called on the delegate queue") {
        let server = try Server(Response(200, [], "a"))
        let queue = OperationQueue()
        let wrong = Locked<[String]>([])
        let recorder = Recorder {
            $0.event = { event in if OperationQueue.current !== queue { wrong.withLock { $0.append(event) } } }
        }
        let session = makeSession(recorder, queue: queue)
        session.dataTask(with: server.url()).resume()
        await recorder.completion()
        try equal(wrong.value, [], "callbacks elsewhere")
    },
    Case("S-74", "T-65", name: "while the delegate queue is suspended, nothing is called") {
        let server = try Server(Response(200, [("Cache-Control", "no-store")], "a"))
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 1
        queue.isSuspended = true
        let recorder = Recorder()
        let session = makeSession(recorder, queue: queue)
        session.dataTask(with: server.url()).resume()
        await quiet()
        try equal(recorder.events, [], "callbacks")
        queue.isSuspended = false
        await recorder.completion()
        try equal(text(recorder.seen.data), "a", "body")
    },
    Case("S-75", name: "a session without a queue makes a serial one") {
        try equal(makeSession().delegateQueue.maxConcurrentOperationCount, 1, "maxConcurrentOperationCount")
    },
    Case("S-76", name: "callbacks of one task never overlap on a concurrent queue") {
        let server = try Server(Response(200, [], String(repeating: "a", count: 400_000)))
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 4
        let inside = Locked(0)
        let overlaps = Locked(0)
        let recorder = Recorder {
            $0.event = { _ in
                let now = inside.withLock { count in
                    count += 1
                    return count
                }
                if now > 1 { overlaps.withLock { $0 += 1 } }
                usleep(3000)
                inside.withLock { $0 -= 1 }
            }
        }
        let session = makeSession(recorder, queue: queue)
        session.dataTask(with: server.url()).resume()
        await recorder.completion()
        try equal(overlaps.value, 0, "overlaps")
        try equal(recorder.seen.data.count, 400_000, "bytes")
    },
    Case("S-81", "S-84", name: "the delegate is held until the session is invalid, and no longer") {
        weak let recorder: Recorder?
        let invalid = Locked(false)
        let session: URLSession
        do {
            let delegate = Recorder { $0.event = { if $0 == "invalid" { invalid.value = true } } }
            session = makeSession(delegate)
            recorder = delegate
        }
        try check(recorder != nil, "released while the session is valid")
        session.finishTasksAndInvalidate()
        await until { invalid.value }
        await quiet()
        try check(session.delegate == nil, "session.delegate is not nil")
        try check(recorder == nil, "still held")
    },
    Case("S-83", "T-62", name: "invalidateAndCancel cancels the tasks, and the session becomes invalid after them") {
        let server = try Server { connection, _ in connection.waitForEnd() }
        let recorder = Recorder()
        let session = makeSession(recorder)
        let task = session.dataTask(with: server.url())
        task.resume()
        await until { server.connectionCount == 1 }
        session.invalidateAndCancel()
        await until { recorder.events.contains("invalid") && recorder.isComplete }
        try equal(recorder.events.filter { $0 != "metrics" }, ["complete", "invalid"], "callbacks")
        try equal(code(recorder.seen.errors[0]), NSURLErrorCancelled, "error")
    },
    Case("S-83", "T-62", name: "finishTasksAndInvalidate lets the tasks end") {
        let server = try Server(Response(200, [], "a"))
        let recorder = Recorder()
        let session = makeSession(recorder)
        session.dataTask(with: server.url()).resume()
        session.finishTasksAndInvalidate()
        await until { recorder.events.contains("invalid") }
        try equal(
            recorder.events.filter { $0 != "metrics" && $0 != "cache" }, ["response", "data", "complete", "invalid"],
            "callbacks")
        try equal(recorder.seen.codes, [nil], "errors")
    },
    Case("S-84", name: "a session without tasks becomes invalid once") {
        let recorder = Recorder()
        let session = makeSession(recorder)
        session.invalidateAndCancel()
        await until { recorder.events.contains("invalid") }
        await quiet(100)
        try equal(recorder.seen.invalidations, 1, "calls")
    },
    Case("S-86", name: "the copy of a session or task is the same object") {
        let session = makeSession()
        let task = session.dataTask(with: try refusedURL())
        try check(task.copy() as AnyObject === task, "another task")
        try check(session.copy() as AnyObject === session, "another session")
    },
    Case("S-87", name: "getTasksWithCompletionHandler has running tasks by kind") {
        let server = try Server { connection, _ in connection.waitForEnd() }
        let session = makeSession()
        let tasks = [
            session.dataTask(with: server.url()),
            session.uploadTask(with: request(server.url(), "POST"), from: Data("a".utf8)),
            session.downloadTask(with: server.url()),
        ]
        for task in tasks { task.resume() }
        await until { server.connectionCount == 3 }
        let found = Locked<[[Int]]?>(nil)
        session.getTasksWithCompletionHandler { data, upload, download in
            found.value = [data.map(\.taskIdentifier), upload.map(\.taskIdentifier), download.map(\.taskIdentifier)]
        }
        await until { found.value != nil }
        try equal(found.value, tasks.map { [$0.taskIdentifier] }, "identifiers of data, upload and download tasks")
    },
    Case("T-60", name: "getAllTasks has no tasks that have ended") {
        let server = try Server(Response(200))
        let session = makeSession()
        _ = await session.load(server.url())
        await quiet(100)
        let count = Locked<Int?>(nil)
        session.getAllTasks { count.value = $0.count }
        await until { count.value != nil }
        try equal(count.value, 0, "tasks")
    },
    Case("S-88", "CONN-18", name: "after flush, requests use a new connection") {
        let server = try Server(Response(200))
        let session = makeSession()
        _ = await session.load(server.url())
        let flushed = Locked(false)
        session.flush { flushed.value = true }
        await until { flushed.value }
        _ = await session.load(server.url())
        try equal(server.requests.map(\.connection), [0, 1], "connections of the requests")
    },
    Case("S-89", name: "reset empties cookies, cache and credentials") {
        let server = try Server(Response(200, [("Set-Cookie", "a=b; Path=/"), ("Cache-Control", "max-age=600")], "a"))
        let session = makeSession()
        _ = await session.load(server.url())
        let space = URLProtectionSpace(
            host: "a.example", port: 80, protocol: "http", realm: "r",
            authenticationMethod: NSURLAuthenticationMethodHTTPBasic)
        let configuration = session.configuration
        configuration.urlCredentialStorage?.set(
            URLCredential(user: "u", password: "p", persistence: .forSession), for: space)
        let isReset = Locked(false)
        session.reset { isReset.value = true }
        await until { isReset.value }
        try equal(configuration.httpCookieStorage?.cookies?.count ?? 0, 0, "cookies")
        try check(
            configuration.urlCache?.cachedResponse(for: URLRequest(url: server.url())) == nil, "a cached response")
        try equal(configuration.urlCredentialStorage?.allCredentials.count ?? 0, 0, "credentials")
    },
    Case("S-90", "T-25", name: "an unknown transfer size is -1") {
        try equal(NSURLSessionTransferSizeUnknown, -1, "NSURLSessionTransferSizeUnknown")
    },
    Case("S-101", name: "three hundred tasks at once end once each") {
        let server = try Server { Response(200, [("Cache-Control", "no-store")], $0.path) }
        let session = makeSession()
        let ends = Locked<[String]>([])
        for number in 0..<300 {
            session.dataTask(with: server.url("/\(number)")) { data, _, error in
                let end = data.map { text($0) } ?? "\(error.debugDescription)"
                ends.withLock { $0.append(end) }
            }.resume()
        }
        await until { ends.value.count >= 300 }
        await quiet(100)
        try equal(ends.value.sorted(), (0..<300).map { "/\($0)" }.sorted(), "ends")
    },
    Case("T-63", name: "the handlers of flush and reset are called on the delegate queue") {
        let queue = OperationQueue()
        let session = makeSession(queue: queue)
        let found = Locked<[Bool]>([])
        session.flush { found.withLock { $0.append(OperationQueue.current === queue) } }
        await until { found.value.count == 1 }
        session.reset { found.withLock { $0.append(OperationQueue.current === queue) } }
        await until { found.value.count == 2 }
        try equal(found.value, [true, true], "on the queue")
    },
]
