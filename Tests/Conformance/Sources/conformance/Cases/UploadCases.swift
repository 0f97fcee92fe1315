import Foundation
import FoundationNetworking

private func echo() throws -> Server { try Server { Response(200, [("Cache-Control", "no-store")], $0.body) } }

private func temporaryFile(_ body: String) throws -> URL {
    let file = FileManager.default.temporaryDirectory.appendingPathComponent("body")
    try Data(body.utf8).write(to: file)
    return file
}

let uploadCases: [Case] = [
    Case("S-32", "MISC-5", name: "an upload of data has a Content-Length") {
        let server = try echo()
        let outcome = Locked<Outcome?>(nil)
        makeSession().uploadTask(with: request(server.url(), "PUT"), from: Data("data".utf8)) {
            outcome.value = Outcome(data: $0, response: $1, error: $2 as NSError?)
        }.resume()
        await until { outcome.value != nil }
        try equal(outcome.value?.summary, "200 data", "echo")
        try equal(server.requests.first?.value("Content-Length"), "4", "Content-Length")
        try equal(server.requests.first?.method, "PUT", "method")
    },
    Case("S-32", "MISC-5", name: "an upload of a file has a Content-Length") {
        let server = try echo()
        let recorder = Recorder()
        makeSession(recorder).uploadTask(with: request(server.url(), "POST"), fromFile: try temporaryFile("file"))
            .resume()
        await recorder.completion()
        try equal(text(recorder.seen.data), "file", "echo")
        try equal(server.requests.first?.value("Content-Length"), "4", "Content-Length")
    },
    Case("MISC-5", name: "a streamed body is chunked") {
        let server = try echo()
        let recorder = Recorder { $0.stream = { InputStream(data: Data("streamed".utf8)) } }
        makeSession(recorder).uploadTask(withStreamedRequest: request(server.url(), "POST")).resume()
        await recorder.completion()
        try equal(text(recorder.seen.data), "streamed", "echo")
        try equal(server.requests.first?.value("Transfer-Encoding"), "chunked", "Transfer-Encoding")
        try equal(server.requests.first?.value("Content-Length"), nil, "Content-Length")
    },
    Case("MISC-5", name: "a request with an httpBodyStream sends it") {
        let server = try echo()
        var request = request(server.url(), "POST")
        request.httpBodyStream = InputStream(data: Data("streamed".utf8))
        try equal(await makeSession().load(request).summary, "200 streamed", "echo")
    },
    Case("T-51", "ERR-10", name: "a streamed upload without a stream fails with -1021") {
        let recorder = Recorder { $0.stream = { nil } }
        makeSession(recorder).uploadTask(withStreamedRequest: request(try echo().url(), "POST")).resume()
        await recorder.completion()
        try equal(code(recorder.seen.errors[0]), NSURLErrorRequestBodyStreamExhausted, "error")
    },
    Case("T-53", name: "an upload task ignores the request's httpBody") {
        let server = try echo()
        let recorder = Recorder()
        let request = request(server.url(), "POST", body: "ignored")
        makeSession(recorder).uploadTask(with: request, from: Data("data".utf8)).resume()
        await recorder.completion()
        try equal(server.requests.map { text($0.body) }, ["data"], "bodies")
    },
    Case("S-35", name: "an upload task with a completion handler may have no data") {
        let server = try echo()
        let outcome = Locked<Outcome?>(nil)
        makeSession().uploadTask(with: request(server.url(), "POST"), from: nil) {
            outcome.value = Outcome(data: $0, response: $1, error: $2 as NSError?)
        }.resume()
        await until { outcome.value != nil }
        try equal(outcome.value?.status, 200, "status")
        try equal(server.requests.map { $0.body.count }, [0], "bodies")
    },
    Case("S-51", "T-31", name: "didSendBodyData counts up to the length") {
        let server = try Server(Response(200))
        let recorder = Recorder()
        let body = Data(repeating: 97, count: 3 << 20)
        makeSession(recorder).uploadTask(with: request(server.url(), "POST"), from: body).resume()
        await recorder.completion()
        let sent = recorder.seen.sent
        try check(!sent.isEmpty, "no didSendBodyData")
        try equal(sent.map { $0[0] }.reduce(0, +), Int64(body.count), "sum of bytesSent")
        try equal(sent.last, [sent.last?[0] ?? 0, Int64(body.count), Int64(body.count)], "last")
        try equal(sent.map { $0[1] }, sent.map { $0[1] }.sorted(), "totals in order")
        try equal(server.requests.first?.body.count, body.count, "body of the server")
    },
    Case("ERR-8", name: "an upload of a missing file fails with -1100") {
        let recorder = Recorder()
        let missing = URL(fileURLWithPath: "/nowhere/file")
        makeSession(recorder).uploadTask(with: request(try echo().url(), "POST"), fromFile: missing).resume()
        await recorder.completion()
        try equal(code(recorder.seen.errors[0]), NSURLErrorFileDoesNotExist, "error")
    },
    Case("T-55", name: "async upload") {
        let server = try echo()
        let request = request(server.url(), "POST")
        let (data, response) = try await makeSession().upload(for: request, from: Data("data".utf8))
        try equal(text(data), "data", "echo of data")
        try equal((response as? HTTPURLResponse)?.statusCode, 200, "status")
        let (file, _) = try await makeSession().upload(for: request, fromFile: try temporaryFile("file"))
        try equal(text(file), "file", "echo of a file")
    },
]
