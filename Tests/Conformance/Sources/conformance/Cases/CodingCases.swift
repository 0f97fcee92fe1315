import Foundation
import FoundationNetworking

/// A text, and what it is in several content codings.
private enum Coded {
    static let text = "hello coded world, hello coded world"
    static let gzip = bytes("H4sIAAAAAAACA8tIzcnJV0jOT0lNUSjPL8pJ0VHIQBcCAHhvHEMkAAAA")
    static let zlib = bytes("eJzLSM3JyVdIzk9JTVEozy/KSdFRyEAXAgD0tw1D")
    static let raw = bytes("y0jNyclXSM5PSU1RKM8vyknRUchAFwIA")
    static let twice = bytes("H4sIAAAAAAACA5Pv5mAAASbm0x5nT54M9zjn7+kbqHFe/5TnxcATDuJMDBX5Ms4qQBUAnS/MjSoAAAA=")

    private static func bytes(_ base64: String) -> Data { Data(base64Encoded: base64) ?? Data() }
}

private func server(_ coding: String, _ bytes: Data) throws -> Server {
    try Server(Response(200, [("Content-Encoding", coding), ("Cache-Control", "no-store")], bytes))
}

let codingCases: [Case] = [
    Case("ENC-1", name: "gzip and deflate are accepted") {
        let server = try Server(Response(200))
        _ = await makeSession().load(server.url())
        let accepted = server.requests.first?.value("Accept-Encoding") ?? ""
        try check(accepted.contains("gzip") && accepted.contains("deflate"), "Accept-Encoding: \(accepted)")
    },
    Case("ENC-2", name: "the application's Accept-Encoding is sent, and gzip still decoded") {
        let server = try server("gzip", Coded.gzip)
        let outcome = await makeSession().load(request(server.url(), "GET", ["Accept-Encoding": "gzip;q=0.5"]))
        try equal(server.requests.first?.value("Accept-Encoding"), "gzip;q=0.5", "Accept-Encoding")
        try equal(outcome.text, Coded.text, "body")
    },
    Case("ENC-3", name: "gzip is decoded") {
        try equal(await makeSession().load(try server("gzip", Coded.gzip).url()).text, Coded.text, "body")
    },
    Case("ENC-3", name: "x-gzip is gzip") {
        try equal(await makeSession().load(try server("x-gzip", Coded.gzip).url()).text, Coded.text, "body")
    },
    Case("ENC-3", name: "deflate is decoded, with and without zlib's header") {
        try equal(await makeSession().load(try server("deflate", Coded.zlib).url()).text, Coded.text, "body with it")
        try equal(await makeSession().load(try server("deflate", Coded.raw).url()).text, Coded.text, "body without it")
    },
    Case("ENC-3", name: "two codings are decoded in reverse") {
        try equal(await makeSession().load(try server("gzip, gzip", Coded.twice).url()).text, Coded.text, "body")
    },
    Case("ENC-3", name: "a chunked gzip body is decoded") {
        let half = Coded.gzip.count / 2
        let chunks = [Coded.gzip.prefix(half), Coded.gzip.dropFirst(half)]
        let body = chunks.reduce(Data()) {
            $0 + Data((String($1.count, radix: 16) + "\r\n").utf8) + $1 + Data("\r\n".utf8)
        }
        let head = Data("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n".utf8)
        let server = try Server(.raw(head + body + Data("0\r\n\r\n".utf8)))
        try equal(await makeSession().load(server.url()).text, Coded.text, "body")
    },
    Case("ENC-4", name: "an unknown coding is delivered unchanged") {
        let outcome = await makeSession().load(try server("upper", Data("HELLO".utf8)).url())
        try equal(outcome.summary, "200 HELLO", "load")
    },
    Case("ENC-5", name: "Content-Encoding stays among the fields") {
        let outcome = await makeSession().load(try server("gzip", Coded.gzip).url())
        try equal(outcome.http?.value(forHTTPHeaderField: "Content-Encoding"), "gzip", "Content-Encoding")
    },
    Case("ENC-8", name: "the response to HEAD is not decoded") {
        let server = try Server(.raw("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 50\r\n\r\n"))
        try equal(await makeSession().load(request(server.url(), "HEAD")).summary, "200 ", "load")
    },
    Case("ENC-8", name: "a download is decoded") {
        let recorder = Recorder()
        makeSession(recorder).downloadTask(with: try server("gzip", Coded.gzip).url()).resume()
        await recorder.completion()
        try equal(text(recorder.seen.file), Coded.text, "file")
    },
    Case("ERR-7", "ENC-10", name: "a gzip body that is none is an error") {
        let outcome = await makeSession().load(try server("gzip", Data("this is not gzip".utf8)).url())
        try check(outcome.error != nil, "no error: \(outcome.summary)")
    },
]
