import Foundation
import FoundationNetworking

/// The load of a response of these bytes, which end with the connection.
private func load(_ text: String) async throws -> Outcome { await makeSession().load(try Server(.raw(text)).url()) }

/// Sends a large body as fast as it can, and counts what it could send.
private func largeServer(_ sent: Locked<Int>) throws -> Server {
    try Server { connection, _ in
        _ = try connection.request()
        let piece = Data(repeating: 97, count: 1 << 20)
        try connection.send("HTTP/1.1 200 OK\r\nCache-Control: no-store\r\nContent-Length: \(400 << 20)\r\n\r\n")
        for _ in 0..<400 {
            try connection.send(piece)
            sent.withLock { $0 += piece.count }
        }
    }
}

let connectionCases: [Case] = [
    Case("CONN-22", "T-65", name: "a delegate that is slow stops the server") {
        let sent = Locked(0)
        let server = try largeServer(sent)
        let isWaiting = Locked(false)
        let recorder = Recorder {
            $0.event = { event in
                guard event == "data", !isWaiting.value else { return }
                isWaiting.value = true
                sleep(3)
            }
        }
        let task = makeSession(recorder).dataTask(with: server.url())
        task.resume()
        await until { isWaiting.value }
        await quiet(2000)
        try check(sent.value < 100 << 20, "it has sent \(sent.value >> 20) MiB, of which few were read")
        task.cancel()
    },
    Case("CONN-22", "T-43", name: "a response's handler that is not called stops the server") {
        let sent = Locked(0)
        let server = try largeServer(sent)
        let recorder = Recorder { $0.response = { _ in nil } }
        let task = makeSession(recorder).dataTask(with: server.url())
        task.resume()
        await until { recorder.seen.responses.count == 1 }
        await quiet(2000)
        try check(sent.value < 100 << 20, "it has sent \(sent.value >> 20) MiB, of which none were asked for")
        task.cancel()
    },
    Case("CONN-1", name: "sequential requests use one connection") {
        let server = try Server(Response(200, [("Cache-Control", "no-store")], "a"))
        let session = makeSession()
        for _ in 0..<3 { _ = await session.load(server.url()) }
        try equal(server.requests.map(\.connection), [0, 0, 0], "connections of the requests")
    },
    Case("CONN-19", name: "after Connection: close, the next request has a new connection") {
        let server = try Server(Response(200, [("Connection", "close")], "a"))
        let session = makeSession()
        for _ in 0..<2 { _ = await session.load(server.url()) }
        try equal(server.requests.map(\.connection), [0, 1], "connections of the requests")
    },
    Case("CONN-10", name: "a GET on a connection that the server closes meanwhile is sent again") {
        let server = try Server { connection, server in
            while let request = try connection.request() {
                server.record(request)
                // The second request of a connection gets no answer.
                if server.requests.filter({ $0.connection == connection.number }).count > 1 { return }
                try connection.send(Response(200, [("Cache-Control", "no-store")], "a").bytes)
            }
        }
        let session = makeSession()
        try equal(await session.load(server.url()).summary, "200 a", "first load")
        try equal(await session.load(server.url()).summary, "200 a", "second load")
    },
    Case("CONN-10", name: "a POST that the server has read is not sent again") {
        let server = try Server { _ in .nothing }
        let outcome = await makeSession().load(request(server.url(), "POST", body: "abc"))
        try check(outcome.error != nil, "no error: \(outcome.summary)")
        try equal(server.requests.count, 1, "requests")
    },
    Case("CONN-22", name: "a body of eight megabytes arrives whole") {
        let body = Data((0..<(8 << 20)).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 11) })
        let server = try Server(Response(200, [("Cache-Control", "no-store")], body))
        let outcome = await makeSession().load(server.url())
        try check(outcome.data == body, "another body, of \(outcome.data?.count ?? 0) bytes")
    },
    Case("CONN-23", name: "a chunked body is decoded") {
        let outcome = try await load(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4;a=b\r\nfour\r\n007\r\n chunks\r\n0\r\n\r\n")
        try equal(outcome.summary, "200 four chunks", "load")
    },
    Case("CONN-23", name: "trailers are dropped") {
        let outcome = try await load(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nfour\r\n0\r\nX-End: a\r\n\r\n")
        try equal(outcome.summary, "200 four", "load")
        try equal(outcome.http?.value(forHTTPHeaderField: "X-End"), nil, "X-End")
    },
    Case("CONN-23", name: "a chunked body that ends early is an error") {
        let outcome = try await load("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nfour\r\n")
        try check(outcome.error != nil, "no error: \(outcome.summary)")
    },
    Case("CONN-27", name: "a body without a length ends with the connection") {
        try equal(try await load("HTTP/1.1 200 OK\r\n\r\nbody").summary, "200 body", "load")
    },
    Case("CONN-27", "ERR-6", name: "a body shorter than its length is an error") {
        let outcome = try await load("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort")
        try check(outcome.error != nil, "no error: \(outcome.summary)")
    },
    Case("CONN-27", name: "a Content-Length that is no number, or negative, is an error") {
        for length in ["abc", "-5"] {
            let outcome = try await load("HTTP/1.1 200 OK\r\nContent-Length: \(length)\r\n\r\nbody")
            try check(outcome.error != nil, "no error with \(length): \(outcome.summary)")
        }
    },
    Case("CONN-26", name: "an unknown status is delivered") {
        try equal(try await load("HTTP/1.1 999 Odd\r\nContent-Length: 1\r\n\r\na").summary, "999 a", "load")
    },
    Case("CONN-26", name: "a malformed status line is an error, without data and response") {
        for line in ["HTTP/1.1", "HTTP/1.1 abc OK", "HTTP/1.1 20 OK"] {
            let outcome = try await load("\(line)\r\nContent-Length: 1\r\n\r\na")
            try check(outcome.error != nil, "no error with \(line): \(outcome.summary)")
            try check(outcome.data == nil && outcome.response == nil, "data or a response with \(line)")
        }
    },
    Case("CONN-26", name: "a status line without a reason is accepted") {
        try equal(try await load("HTTP/1.1 200 \r\nContent-Length: 1\r\n\r\na").summary, "200 a", "load")
    },
    Case("MISC-1", name: "a response of HTTP/1.0 is accepted") {
        try equal(try await load("HTTP/1.0 200 OK\r\n\r\nold").summary, "200 old", "load")
    },
    Case("CONN-28", name: "space around a field's value is removed") {
        let outcome = try await load("HTTP/1.1 200 OK\r\nX-Name:   a b \t\r\nContent-Length: 0\r\n\r\n")
        try equal(outcome.http?.value(forHTTPHeaderField: "X-Name"), "a b", "X-Name")
    },
    Case("CONN-28", name: "no space is needed after a field's colon") {
        let outcome = try await load("HTTP/1.1 200 OK\r\nX-Name:a\r\nContent-Length: 0\r\n\r\n")
        try equal(outcome.http?.value(forHTTPHeaderField: "X-Name"), "a", "X-Name")
    },
    Case("CONN-28", name: "a folded field is one value") {
        let outcome = try await load("HTTP/1.1 200 OK\r\nX-Name: a\r\n b\r\nContent-Length: 0\r\n\r\n")
        try equal(outcome.http?.value(forHTTPHeaderField: "X-Name"), "a b", "X-Name")
    },
    Case("CONN-28", name: "a bare line feed ends a line") {
        try equal(try await load("HTTP/1.1 200 OK\nContent-Length: 4\n\nbody").summary, "200 body", "load")
    },
    Case("CONN-28", name: "a bare carriage return in a head is an error") {
        let outcome = try await load("HTTP/1.1 200 OK\r\nX-Name: a\rb\r\nContent-Length: 4\r\n\r\nbody")
        try check(outcome.error != nil, "no error: \(outcome.summary)")
    },
    Case("T-54", name: "interim responses are not the result") {
        let outcome = try await load(
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na"
        )
        try equal(outcome.summary, "200 a", "load")
    },
    Case("CONN-15", name: "a server that accepts and says nothing times out with -1001") {
        let server = try Server { connection, _ in connection.waitForEnd() }
        var request = URLRequest(url: server.url())
        request.timeoutInterval = 1
        let began = Date()
        let outcome = await makeSession().load(request)
        try equal(outcome.code, NSURLErrorTimedOut, "error")
        let seconds = Date().timeIntervalSince(began)
        try check(seconds > 0.8 && seconds < 5, "after \(seconds) s")
    },
    Case("CONN-15", name: "a server that stops in mid-body times out with -1001") {
        let server = try Server { connection, _ in
            _ = try connection.request()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nsome")
            connection.waitForEnd()
        }
        var request = URLRequest(url: server.url())
        request.timeoutInterval = 1
        try equal(await makeSession().load(request).code, NSURLErrorTimedOut, "error")
    },
    Case("CONN-23", name: "a server that answers before it has read the body") {
        let server = try Server { connection, _ in
            _ = try connection.bytes(10)
            try connection.send("HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\nConnection: close\r\n\r\nbig")
            connection.waitForEnd()
        }
        let outcome = Locked<Outcome?>(nil)
        let body = Data(repeating: 97, count: 100_000)
        makeSession().uploadTask(with: request(server.url(), "POST"), from: body) {
            outcome.value = Outcome(data: $0, response: $1, error: $2 as NSError?)
        }.resume()
        await until { outcome.value != nil }
        try equal(outcome.value?.summary, "413 big", "load")
    },
]

/// A response with this field, which may be anything.
private func field(_ field: String, status: Int = 200) -> Data {
    Data("HTTP/1.1 \(status) Status\r\n\(field)\r\nContent-Length: 1\r\n\r\na".utf8)
}

private func chunked(_ body: String) -> Data {
    Data("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\(body)".utf8)
}

/// What no honest server sends.
private let hostileAnswers: [(name: String, bytes: @Sendable () -> Data)] = [
    ("garbage", { Data((0..<4096).map { UInt8(truncatingIfNeeded: $0 * 167 + $0 / 8) }) }),
    ("a bare carriage return in the status line", { Data("HTTP/1.1 200\rOK\r\nContent-Length: 1\r\n\r\na".utf8) }),
    ("a bare carriage return in a field", { field("X-Name: a\rb") }),
    ("NUL in a field", { field("X-Name: a\0b") }),
    (
        "bytes that are no UTF-8 in a field",
        { Data("HTTP/1.1 200 OK\r\nX-Name: ".utf8) + [0xff, 0x80, 13, 10, 13, 10] }
    ),
    ("a field without a name", { field(": a") }),
    ("a line without a colon", { field("no colon here") }),
    ("a field of four megabytes", { field("X-Name: " + String(repeating: "a", count: 4 << 20)) }),
    ("a hundred thousand fields", { field((0..<100_000).map { "A\($0): b" }.joined(separator: "\r\n")) }),
    ("a chunk size that overflows", { chunked("fffffffffffffffff\r\na") }),
    ("a negative chunk size", { chunked("-1\r\na\r\n0\r\n\r\n") }),
    (
        "a Content-Length that overflows",
        { Data("HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999\r\n\r\na".utf8) }
    ),
    ("two different lengths", { field("Content-Length: 5") }),
    ("a redirect to nonsense", { field("Location: http://[::bad:::]:99999999/%zz", status: 302) }),
    ("an empty challenge", { field("WWW-Authenticate: ", status: 401) }),
    ("a challenge with an open quote", { field("WWW-Authenticate: Basic realm=\"a", status: 401) }),
    ("a Digest challenge without parameters", { field("WWW-Authenticate: Digest", status: 401) }),
    ("ages that overflow", { field("Cache-Control: max-age=99999999999999999999\r\nAge: 99999999999999999999") }),
    ("a date that is none", { field("Date: Fri, 99 Foo 9999 99:99:99 GMT\r\nExpires: x\r\nLast-Modified: -1") }),
    ("a cookie of nonsense", { field("Set-Cookie: ;;;=;,,\r\nSet-Cookie: a=b; Expires=99999; Max-Age=x; Path=") }),
    (
        "many interim responses, and then nothing",
        { Data(String(repeating: "HTTP/1.1 103 Hints\r\n\r\n", count: 2000).utf8) }
    ),
]

/// An end of any kind is right, but not a crash.
let hostileCases: [Case] = hostileAnswers.map { answer in
    Case("CONN-26", "CONN-28", "ERR-7", name: "no crash and no hang: \(answer.name)") {
        let server = try Server(.raw(answer.bytes()))
        let outcome = await makeSession().load(server.url())
        try check(outcome.error != nil || outcome.response != nil, "neither a response nor an error")
        let recorder = Recorder()
        await run(server.url(), recorder)
        try equal(recorder.seen.errors.count, 1, "completions")
    }
}
