import Foundation
import FoundationNetworking

/// The metrics of a load.
private func metrics(_ url: URL, session given: URLSession? = nil, _ recorder: Recorder = Recorder()) async throws
    -> URLSessionTaskMetrics
{
    (given ?? makeSession(recorder)).dataTask(with: url).resume()
    await recorder.completion()
    await quiet(50)
    return try unwrap(recorder.seen.metrics.last, "metrics")
}

private func plain() throws -> Server { try Server(Response(200, [("Cache-Control", "no-store")], "hello")) }

let metricsCases: [Case] = [
    Case("T-39", "MET-1", name: "metrics come once, before the completion") {
        let recorder = Recorder()
        await run(try plain().url(), recorder)
        await quiet(100)
        try equal(recorder.events, ["response", "data", "metrics", "complete"], "callbacks")
        try equal(recorder.seen.metrics.count, 1, "metrics")
    },
    Case("T-47", name: "a task with a completion handler has metrics") {
        let recorder = Recorder()
        _ = await makeSession(recorder).load(try plain().url())
        await quiet(100)
        try equal(recorder.events, ["metrics"], "callbacks")
    },
    Case("MET-1", name: "a redirect is a transaction of its own") {
        let server = try Server { $0.path == "/" ? .redirect(302, to: "/new") : Response(200) }
        let metrics = try await metrics(server.url())
        try equal(metrics.redirectCount, 1, "redirectCount")
        try equal(metrics.transactionMetrics.map(\.request.url), [server.url(), server.url("/new")], "URLs")
        try equal(
            metrics.transactionMetrics.map { ($0.response as? HTTPURLResponse)?.statusCode }, [302, 200], "statuses")
    },
    Case("MET-17", name: "an answered challenge is a transaction, but no redirect") {
        let server = try Server {
            $0.value("Authorization") == nil
                ? Response(401, [("WWW-Authenticate", "Basic realm=\"r\"")]) : Response(200)
        }
        let metrics = try await metrics(
            server.url(),
            Recorder {
                $0.challenge = { _ in (.useCredential, URLCredential(user: "u", password: "p", persistence: .none)) }
            })
        try equal(metrics.redirectCount, 0, "redirectCount")
        try equal(metrics.transactionMetrics.count, 2, "transactions")
    },
    Case("MET-1", "MET-2", "MET-6", name: "dates are in their order, within the task's interval") {
        let metrics = try await metrics(try plain().url())
        let one = try unwrap(metrics.transactionMetrics.first, "transaction")
        let dates = [
            one.fetchStartDate, one.connectStartDate, one.connectEndDate, one.requestStartDate, one.requestEndDate,
            one.responseStartDate, one.responseEndDate,
        ]
        let all = dates.compactMap(\.self)
        try equal(all.count, dates.count, "dates that are there")
        try equal(all, all.sorted(), "dates")
        try check(metrics.taskInterval.duration > 0, "no duration")
        try check(metrics.taskInterval.contains(all[0]), "the fetch began outside of the task's interval")
    },
    Case("MET-3", "MET-8", name: "a reused connection is reported, without dates of connecting") {
        let server = try plain()
        let recorder = Recorder()
        let session = makeSession(recorder)
        for count in 1...2 {
            session.dataTask(with: server.url()).resume()
            await until { recorder.seen.errors.count == count }
        }
        let all = recorder.seen.metrics.compactMap(\.transactionMetrics.first)
        try equal(all.map(\.isReusedConnection), [false, true], "isReusedConnection")
        try equal(all.map { $0.connectStartDate != nil }, [true, false], "dates of connecting")
    },
    Case("MET-5", "MET-10", name: "a cleartext connection has nothing of TLS") {
        let one = try unwrap(try await metrics(try plain().url()).transactionMetrics.first, "transaction")
        try check(one.secureConnectionStartDate == nil, "a date")
        try check(one.negotiatedTLSProtocolVersion == nil, "a version")
        try check(one.fetchStartDate != nil, "no fetchStartDate")
    },
    Case("MET-7", "MET-14", name: "protocol and kind of fetch") {
        let one = try unwrap(try await metrics(try plain().url()).transactionMetrics.first, "transaction")
        try equal(one.networkProtocolName, "http/1.1", "networkProtocolName")
        try equal(one.resourceFetchType, .networkLoad, "resourceFetchType")
    },
    Case("MET-9", name: "addresses and ports") {
        let server = try plain()
        let one = try unwrap(try await metrics(server.url()).transactionMetrics.first, "transaction")
        try equal(one.remoteAddress, "127.0.0.1", "remoteAddress")
        // A number, or a string in the toolchain's module.
        try equal(one.remotePort.map { "\($0)" }, "\(server.port)", "remotePort")
        try equal(one.localAddress, "127.0.0.1", "localAddress")
        try check(one.localPort != nil, "no localPort")
    },
    Case("MET-11", name: "bytes are counted") {
        let server = try Server(.raw("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"))
        let one = try unwrap(try await metrics(server.url()).transactionMetrics.first, "transaction")
        try equal(one.countOfResponseHeaderBytesReceived, 38, "header bytes received")
        try equal(one.countOfResponseBodyBytesReceived, 5, "body bytes received")
        try equal(one.countOfResponseBodyBytesAfterDecoding, 5, "after decoding")
        try check(one.countOfRequestHeaderBytesSent > 0, "no header bytes sent")
    },
    Case("MET-14", name: "a stored response is a fetch from the local cache") {
        let server = try Server(Response(200, [("Cache-Control", "max-age=600")], "hello"))
        let cache = makeCache()
        _ = await makeSession { $0.urlCache = cache }.load(server.url())
        await quiet(100)
        let recorder = Recorder()
        let session = makeSession(recorder) { $0.urlCache = cache }
        let one = try unwrap(
            try await metrics(server.url(), session: session, recorder).transactionMetrics.first, "transaction")
        try equal(one.resourceFetchType, .localCache, "resourceFetchType")
    },
    Case("MET-16", name: "a failed task has metrics, without a response") {
        let metrics = try await metrics(try refusedURL())
        try equal(metrics.transactionMetrics.map { $0.response == nil }, [true], "transactions without a response")
    },
]
