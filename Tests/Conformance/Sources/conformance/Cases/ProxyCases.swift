import Foundation
import FoundationNetworking

/// A session with a proxy for a kind of traffic.
private func proxied(
    _ kind: String, _ proxy: Server, _ delegate: (any URLSessionDelegate)? = nil, _ more: [String: Any] = [:]
) -> URLSession {
    makeSession(delegate) {
        let settings: [String: Any] = ["\(kind)Enable": 1, "\(kind)Proxy": "127.0.0.1", "\(kind)Port": proxy.port]
        $0.connectionProxyDictionary = settings.merging(more) { $1 }
    }
}

private func url(_ text: String) throws -> URL { try unwrap(URL(string: text), "URL") }

let proxyCases: [Case] = [
    Case("PROXY-1", "PROXY-5", "C-17", name: "an HTTP proxy gets the whole URL") {
        let proxy = try Server(Response(200, [], "by proxy"))
        let outcome = await proxied("HTTP", proxy).load(try url("http://host.invalid/a?b"))
        try equal(outcome.summary, "200 by proxy", "load")
        try equal(proxy.lines, ["GET http://host.invalid/a?b"], "requests")
        try equal(proxy.requests.first?.value("Host"), "host.invalid", "Host")
    },
    Case("PROXY-1", name: "a proxy that is not enabled is not used") {
        let proxy = try Server(Response(200, [], "by proxy"))
        let outcome = await proxied("HTTP", proxy, nil, ["HTTPEnable": 0]).load(try url("http://host.invalid/"))
        try check(outcome.error != nil, "no error")
        try equal(proxy.connectionCount, 0, "connections of the proxy")
    },
    Case("PROXY-5", name: "https goes through a tunnel") {
        let proxy = try Server { _ in Response(502) }
        let outcome = await proxied("HTTPS", proxy).load(try url("https://host.invalid/"))
        try equal(proxy.lines, ["CONNECT host.invalid:443"], "requests")
        try check(outcome.error != nil, "no error: \(outcome.summary)")
    },
    Case("PROXY-3", name: "hosts of ExceptionsList do not use the proxy") {
        let proxy = try Server(Response(200, [], "by proxy"))
        let session = proxied("HTTP", proxy, nil, ["ExceptionsList": ["*.invalid"]])
        try check(await session.load(try url("http://host.invalid/")).error != nil, "no error")
        try equal(proxy.connectionCount, 0, "connections of the proxy")
    },
    Case("PROXY-5", name: "a SOCKS proxy gets the name of the host") {
        let target = Locked("")
        let proxy = try Server { connection, _ in
            let greeting = try connection.bytes(2)
            _ = try connection.bytes(Int(greeting[1]))
            try connection.send(Data([5, 0]))
            let head = try connection.bytes(5)
            let name = try connection.bytes(Int(head[4]))
            let port = try connection.bytes(2)
            target.value = "\(head[3]) \(text(name)) \(Int(port[0]) * 256 + Int(port[1]))"
            try connection.send(Data([5, 0, 0, 1, 127, 0, 0, 1, 0, 0]))
            _ = try connection.request()
            try connection.send(Response(200, [], "by proxy").bytes)
            connection.waitForEnd()
        }
        let outcome = await proxied("SOCKS", proxy).load(try url("http://host.invalid/"))
        try equal(outcome.summary, "200 by proxy", "load")
        try equal(target.value, "3 host.invalid 80", "kind, name and port")
    },
    Case("AUTH-28", name: "a 407 is a challenge of the proxy") {
        let proxy = try Server { request in
            request.value("Proxy-Authorization") == "Basic dTpw"
                ? Response(200, [], "in") : Response(407, [("Proxy-Authenticate", "Basic realm=\"r\"")], "out")
        }
        let recorder = Recorder {
            $0.challenge = { challenge in
                challenge.previousFailureCount == 0 && challenge.protectionSpace.isProxy()
                    ? (.useCredential, URLCredential(user: "u", password: "p", persistence: .none))
                    : (.performDefaultHandling, nil)
            }
        }
        proxied("HTTP", proxy, recorder).dataTask(with: try url("http://host.invalid/")).resume()
        await recorder.completion()
        try equal(recorder.seen.challenges.map { $0.protectionSpace.isProxy() }, [true], "isProxy of the challenges")
        try equal(text(recorder.seen.data), "in", "body")
    },
    Case("PROXY-10", name: "a proxy that refuses connections is an error") {
        let refused = try unwrap(try refusedURL().port, "port")
        let session = makeSession {
            $0.connectionProxyDictionary = ["HTTPEnable": 1, "HTTPProxy": "127.0.0.1", "HTTPPort": refused]
        }
        let outcome = await session.load(try url("http://host.invalid/"))
        try check(outcome.error != nil, "no error: \(outcome.summary)")
        try check(outcome.code != NSURLErrorCannotFindHost, "the host was looked up, without the proxy")
    },
]
