import Foundation
import FoundationNetworking

/// The order of callbacks. Metrics have cases of their own, so their callback is left out here.
private func order(_ recorder: Recorder) -> [String] { recorder.events.filter { $0 != "metrics" } }

private func plain(_ body: String = "a") -> Response { Response(200, [("Cache-Control", "no-store")], body) }

let orderCases: [Case] = [
    Case("T-27", name: "a data task: response, data, completion") {
        let recorder = Recorder()
        await run(try Server(plain()).url(), recorder)
        try equal(order(recorder), ["response", "data", "complete"], "callbacks")
        try equal(recorder.seen.codes, [nil], "errors")
    },
    Case("T-28", name: "a HEAD request has no data") {
        let server = try Server { _ in .raw("HTTP/1.1 200 OK\r\nCache-Control: no-store\r\nContent-Length: 5\r\n\r\n") }
        let recorder = Recorder()
        await run(request(server.url(), "HEAD"), recorder)
        try equal(order(recorder), ["response", "complete"], "callbacks")
        try equal(recorder.seen.codes, [nil], "errors")
    },
    Case("T-28", name: "204 and an empty body have no data") {
        for response in [Response(204), Response(200, [("Cache-Control", "no-store")])] {
            let recorder = Recorder()
            await run(try Server(response).url(), recorder)
            try equal(order(recorder).filter { $0 != "cache" }, ["response", "complete"], "callbacks")
        }
    },
    Case("T-28", name: "304 has no data") {
        let recorder = Recorder()
        await run(request(try Server(Response(304)).url(), "GET", ["If-None-Match": "\"a\""]), recorder)
        try equal(order(recorder), ["response", "complete"], "callbacks")
        try equal((recorder.seen.responses.first as? HTTPURLResponse)?.statusCode, 304, "status")
    },
    Case("T-29", "S-51", name: "a data task with a body: sent, response, data, completion") {
        let recorder = Recorder()
        await run(request(try Server(plain()).url(), "POST", body: "abc"), recorder)
        try equal(order(recorder), ["sent", "response", "data", "complete"], "callbacks")
        try equal(recorder.seen.sent.last, [3, 3, 3], "last didSendBodyData")
    },
    Case("T-30", "S-67", name: "a download: written, finished, completion") {
        let recorder = Recorder()
        let task = makeSession(recorder).downloadTask(with: try Server(plain("hello")).url())
        task.resume()
        await recorder.completion()
        try equal(order(recorder), ["written", "finished", "complete"], "callbacks")
        try equal(recorder.seen.written.dropFirst() + [], [5, 5], "totals of didWriteData")
        try equal(text(recorder.seen.file), "hello", "file")
    },
    Case("T-25", "T-30", name: "a download of unknown length expects -1 bytes") {
        let recorder = Recorder()
        let server = try Server(.raw("HTTP/1.1 200 OK\r\n\r\nhello"))
        makeSession(recorder).downloadTask(with: server.url()).resume()
        await recorder.completion()
        try equal(recorder.seen.written, [5, 5, NSURLSessionTransferSizeUnknown], "didWriteData")
    },
    Case("T-30", name: "the body of a 404 is downloaded") {
        let recorder = Recorder()
        let task = makeSession(recorder).downloadTask(with: try Server(Response(404, [], "gone")).url())
        task.resume()
        await recorder.completion()
        try equal(text(recorder.seen.file), "gone", "file")
        try equal(recorder.seen.codes, [nil], "errors")
        try equal((task.response as? HTTPURLResponse)?.statusCode, 404, "status")
    },
    Case("T-30", name: "an empty body is downloaded as an empty file") {
        let recorder = Recorder()
        let task = makeSession(recorder).downloadTask(with: try Server(plain("")).url())
        task.resume()
        await recorder.completion()
        try equal(order(recorder).filter { $0 != "written" }, ["finished", "complete"], "callbacks")
    },
    Case("T-31", "S-50", name: "a streamed upload: stream, sent, response, data, completion") {
        let server = try Server { Response(200, [("Cache-Control", "no-store")], $0.body) }
        let recorder = Recorder { $0.stream = { InputStream(data: Data("streamed".utf8)) } }
        makeSession(recorder).uploadTask(withStreamedRequest: request(server.url(), "POST")).resume()
        await recorder.completion()
        try equal(order(recorder), ["stream", "sent", "response", "data", "complete"], "callbacks")
        try equal(text(recorder.seen.data), "streamed", "echo")
    },
    Case("T-32", name: "a followed redirect: only the redirect, then the response") {
        let server = try Server { $0.path == "/" ? Response(302, [("Location", "/new")], "moved") : plain() }
        let recorder = Recorder()
        await run(server.url(), recorder)
        try equal(order(recorder), ["redirect", "response", "data", "complete"], "callbacks")
        try equal(text(recorder.seen.data), "a", "body")
    },
    Case("T-33", "S-58", name: "a refused redirect: the 3xx response and its body are the result") {
        let server = try Server { _ in Response(302, [("Location", "/new")], "moved") }
        let recorder = Recorder { $0.redirect = { _, _ in nil } }
        await run(server.url(), recorder)
        try equal(order(recorder), ["redirect", "response", "data", "complete"], "callbacks")
        try equal((recorder.seen.responses.first as? HTTPURLResponse)?.statusCode, 302, "status")
        try equal(text(recorder.seen.data), "moved", "body")
        try equal(server.requests.count, 1, "requests")
    },
    Case("T-38", name: "a failure before the response: only the completion") {
        let recorder = Recorder()
        await run(try refusedURL(), recorder)
        try equal(order(recorder), ["complete"], "callbacks")
    },
    Case("T-38", name: "a failure in mid-body: what came, then the error") {
        let server = try Server(.raw("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nsome"))
        let recorder = Recorder()
        await run(server.url(), recorder)
        try equal(order(recorder), ["response", "data", "complete"], "callbacks")
        try equal(text(recorder.seen.data), "some", "body")
        try check(recorder.seen.errors[0] != nil, "no error")
    },
    Case("T-43", "S-63", name: "the disposition .cancel ends the task with -999 and without a body") {
        let recorder = Recorder { $0.response = { _ in .cancel } }
        await run(try Server(plain()).url(), recorder)
        try equal(order(recorder), ["response", "complete"], "callbacks")
        try equal(code(recorder.seen.errors[0]), NSURLErrorCancelled, "error")
    },
    Case("T-43", "S-65", name: "no data before the response's handler is called") {
        let recorder = Recorder { $0.response = { _ in nil } }
        makeSession(recorder).dataTask(with: try Server(plain()).url()).resume()
        await until { recorder.seen.responses.count == 1 }
        await quiet()
        try equal(order(recorder), ["response"], "callbacks before")
        recorder.seen.responseHandler?(.allow)
        await recorder.completion()
        try equal(order(recorder), ["response", "data", "complete"], "callbacks after")
    },
    Case("T-44", "S-64", name: "the disposition .becomeDownload makes a download task") {
        let recorder = Recorder { $0.response = { _ in .becomeDownload } }
        let task = makeSession(recorder).dataTask(with: try Server(plain("hello")).url())
        task.resume()
        await recorder.completion()
        try equal(order(recorder), ["response", "download", "written", "finished", "complete"], "callbacks")
        try equal(text(recorder.seen.file), "hello", "file")
        try check(recorder.seen.download?.taskIdentifier != task.taskIdentifier, "the same identifier")
    },
    Case("T-46", name: "a task with a completion handler reports neither response, data nor completion to the delegate")
    {
        let recorder = Recorder()
        let outcome = await makeSession(recorder).load(try Server(plain()).url())
        await quiet(100)
        try equal(outcome.summary, "200 a", "load")
        try equal(order(recorder), [], "callbacks")
    },
    Case("T-46", "T-49", name: "a download with a completion handler reports no progress and no file to the delegate") {
        let recorder = Recorder()
        let found = Locked<String?>(nil)
        makeSession(recorder).downloadTask(with: try Server(plain("hello")).url()) { url, _, _ in
            found.value = url.flatMap { try? String(contentsOf: $0, encoding: .utf8) } ?? "no file"
        }.resume()
        await until { found.value != nil }
        await quiet(100)
        try equal(found.value, "hello", "file")
        try equal(order(recorder), [], "callbacks")
    },
    Case("T-47", name: "a task with a completion handler asks the delegate about redirects") {
        let server = try Server { $0.path == "/" ? .redirect(302, to: "/new") : plain() }
        let recorder = Recorder { $0.redirect = { _, _ in nil } }
        let outcome = await makeSession(recorder).load(server.url())
        try equal(outcome.status, 302, "status")
        try equal(order(recorder), ["redirect"], "callbacks")
    },
    Case("T-47", name: "a task with a completion handler asks the delegate for credentials") {
        let server = try Server {
            $0.value("Authorization") == nil
                ? Response(401, [("WWW-Authenticate", "Basic realm=\"r\"")]) : plain()
        }
        let recorder = Recorder {
            $0.challenge = { _ in (.useCredential, URLCredential(user: "u", password: "p", persistence: .none)) }
        }
        let outcome = await makeSession(recorder).load(server.url())
        try equal(outcome.summary, "200 a", "load")
    },
    Case("T-48", name: "an empty body is empty data for a completion handler, not nil") {
        let outcome = await makeSession().load(try Server(plain("")).url())
        try equal(outcome.data, Data(), "data")
        try equal(outcome.error, nil, "error")
    },
    Case("T-48", name: "after a failed connection, data and response are nil") {
        let outcome = await makeSession().load(try refusedURL())
        try check(outcome.data == nil, "data: \(outcome.summary)")
        try check(outcome.response == nil, "a response")
        try check(outcome.error != nil, "no error")
    },
    Case("T-49", name: "the file of a download's completion handler is removed after it") {
        let location = Locked<URL?>(nil)
        makeSession().downloadTask(with: try Server(plain("hello")).url()) { url, _, _ in location.value = url }
            .resume()
        await until { location.value != nil }
        await quiet()
        try check(!FileManager.default.fileExists(atPath: location.value?.path ?? ""), "it is still there")
    },
    Case("S-70", name: "the file of didFinishDownloadingTo is removed after it") {
        let recorder = Recorder()
        makeSession(recorder).downloadTask(with: try Server(plain("hello")).url()).resume()
        await recorder.completion()
        await quiet()
        let location = try unwrap(recorder.seen.location, "location")
        try equal(text(recorder.seen.file), "hello", "file")
        try check(!FileManager.default.fileExists(atPath: location.path), "it is still there")
    },
    Case("S-70", name: "a file that was moved in didFinishDownloadingTo stays") {
        let place = FileManager.default.temporaryDirectory.appendingPathComponent("kept")
        let recorder = Recorder { $0.finished = { try? FileManager.default.moveItem(at: $0, to: place) } }
        makeSession(recorder).downloadTask(with: try Server(plain("hello")).url()).resume()
        await recorder.completion()
        await quiet(100)
        try equal(try String(contentsOf: place, encoding: .utf8), "hello", "file")
    },
    Case("S-60", "T-66", name: "redirects are followed if the delegate has no methods") {
        final class Nothing: NSObject, URLSessionDelegate {}
        let redirecting = try Server { $0.path == "/" ? .redirect(302, to: "/new") : plain() }
        try equal(await makeSession(Nothing()).load(redirecting.url()).summary, "200 a", "load")
    },
    Case("MISC-25", name: "nothing is called after the completion") {
        let server = try Server(plain(String(repeating: "a", count: 200_000)))
        let recorder = Recorder()
        await run(server.url(), recorder)
        await quiet()
        try equal(recorder.events.last, "complete", "last callback")
        try equal(recorder.seen.errors.count, 1, "completions")
    },
    Case("S-73", name: "finishTasksAndInvalidate in didFinishDownloadingTo is legal") {
        let held = Locked<URLSession?>(nil)
        let recorder = Recorder { $0.finished = { _ in held.value?.finishTasksAndInvalidate() } }
        held.value = makeSession(recorder)
        held.value?.downloadTask(with: try Server(plain("hello")).url()).resume()
        await until { recorder.events.contains("invalid") && recorder.isComplete }
        try equal(order(recorder), ["written", "finished", "complete", "invalid"], "callbacks")
    },
]
