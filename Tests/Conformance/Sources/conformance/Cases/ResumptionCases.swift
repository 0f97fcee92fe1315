import Foundation
import FoundationNetworking

private let whole = String((0..<20_000).map { Character(UnicodeScalar(UInt8(97 + $0 % 26))) })

/// Sends half of the body and waits, or ends the connection; answers a range with the rest.
private func halving(_ validator: [(String, String)] = [("ETag", "\"v1\"")], drops: Bool = false, ranges: Bool = true)
    throws -> Server
{
    let fields = validator + [("Accept-Ranges", "bytes"), ("Cache-Control", "no-store")]
    return try Server { connection, server in
        while let request = try connection.request() {
            server.record(request)
            let range = request.value("Range")
            if let range, ranges {
                let offset = Int(range.dropFirst("bytes=".count).prefix { $0 != "-" }) ?? 0
                let content = ("Content-Range", "bytes \(offset)-\(whole.count - 1)/\(whole.count)")
                try connection.send(Response(206, fields + [content], String(whole.dropFirst(offset))).bytes)
            } else if range != nil {
                try connection.send(Response(200, fields, whole).bytes)
            } else {
                let bytes = Response(200, fields, whole).bytes
                try connection.send(bytes.prefix(bytes.count - whole.count / 2))
                if drops { return }
                connection.waitForEnd()
            }
        }
    }
}

/// The resume data of a download that was cancelled in the middle.
private func cancelled(_ server: Server) async throws -> Data? {
    let recorder = Recorder()
    let task = makeSession(recorder).downloadTask(with: server.url())
    task.resume()
    await until { recorder.seen.written.count == 3 && recorder.seen.written[1] >= whole.count / 2 }
    let produced = Locked<Data??>(nil)
    task.cancel { produced.value = .some($0) }
    await until { produced.value != nil }
    await recorder.completion()
    try equal(code(recorder.seen.errors[0]), NSURLErrorCancelled, "error")
    return produced.value ?? nil
}

let resumptionCases: [Case] = [
    Case("RES-2", "S-43", name: "cancel(byProducingResumeData:) makes resume data, and the task ends with -999") {
        try check(try await cancelled(try halving()) != nil, "no resume data")
    },
    Case("RES-1", "S-44", name: "no resume data without a validator") {
        try check(try await cancelled(try halving([])) == nil, "resume data")
    },
    Case("RES-2", "S-44", name: "no resume data before the response") {
        let server = try Server { connection, _ in connection.waitForEnd() }
        let task = makeSession().downloadTask(with: server.url())
        task.resume()
        await until { server.connectionCount == 1 }
        let produced = Locked<Data??>(nil)
        task.cancel { produced.value = .some($0) }
        await until { produced.value != nil }
        try check(produced.value == .some(nil), "resume data")
    },
    Case("RES-3", "RES-4", "S-61", name: "a download is resumed by range") {
        let server = try halving()
        let data = try unwrap(try await cancelled(server), "resume data")
        let recorder = Recorder()
        makeSession(recorder).downloadTask(withResumeData: data).resume()
        await recorder.completion()
        try equal(recorder.seen.codes, [nil], "errors")
        try check(text(recorder.seen.file) == whole, "another file, of \(recorder.seen.file.count) bytes")
        try equal(server.requests.last?.value("If-Range"), "\"v1\"", "If-Range")
        try equal(server.requests.last?.value("Range"), "bytes=\(whole.count / 2)-", "Range")
        try check(
            recorder.events.contains("resumed at \(whole.count / 2) of \(whole.count)"), "callbacks: \(recorder.events)"
        )
    },
    Case("RES-11", name: "the totals of a resumed download include what was there") {
        let data = try unwrap(try await cancelled(try halving()), "resume data")
        let recorder = Recorder()
        makeSession(recorder).downloadTask(withResumeData: data).resume()
        await recorder.completion()
        try equal(
            recorder.seen.written.dropFirst() + [], [Int64(whole.count), Int64(whole.count)], "totals of didWriteData")
    },
    Case("RES-3", "RES-5", name: "a resource that has changed is loaded from the beginning") {
        let data = try unwrap(try await cancelled(try halving(ranges: false)), "resume data")
        let recorder = Recorder()
        makeSession(recorder).downloadTask(withResumeData: data).resume()
        await recorder.completion()
        try equal(recorder.seen.codes, [nil], "errors")
        try check(text(recorder.seen.file) == whole, "another file, of \(recorder.seen.file.count) bytes")
    },
    Case("RES-12", "S-45", name: "the error of a lost download has resume data") {
        let server = try halving(drops: true)
        let recorder = Recorder()
        makeSession(recorder).downloadTask(with: server.url()).resume()
        await recorder.completion()
        let data = recorder.seen.errors[0]?.userInfo["NSURLSessionDownloadTaskResumeData"] as? Data
        let resumed = Recorder()
        makeSession(resumed).downloadTask(withResumeData: try unwrap(data, "resume data")).resume()
        await resumed.completion()
        try check(text(resumed.seen.file) == whole, "another file, of \(resumed.seen.file.count) bytes")
    },
    Case("RES-8", name: "resume data that is none fails with -1002") {
        let recorder = Recorder()
        makeSession(recorder).downloadTask(withResumeData: Data("none".utf8)).resume()
        await recorder.completion()
        try equal(code(recorder.seen.errors[0]), NSURLErrorUnsupportedURL, "error")
    },
]
