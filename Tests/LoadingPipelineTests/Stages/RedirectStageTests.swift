import Foundation
import LoadingSemantics
import Testing

@testable import LoadingPipeline

/// The request that a redirect makes of the one before. What may be followed, and what goes with it, is in
/// `RedirectRulesTests`.
@Suite struct RedirectStageTests {
    private func request(
        _ method: String = "POST", _ url: String = "https://a.example/x", body: LoadBody = .bytes(Data("b".utf8))
    ) throws -> LoadRequest {
        var request = LoadRequest(
            url: try HTTPURL(url), urlText: url, method: method,
            fields: HTTPFields([
                ("Authorization", "me"), ("Cookie", "c"), ("X-Own", "1"), ("Content-Type", "text/plain"),
                ("Referer", "https://a.example/"),
            ]), body: body, idleTimeout: 12, totalTimeout: 34, waitsForConnectivity: true, priority: 0.7)
        request.cachePolicy = .returnCacheDataElseLoad
        request.partition = "jar"
        request.assumesHTTP3 = true
        request.allowsEarlyData = true
        return request
    }

    private func response(_ status: Int, _ location: String?, from request: LoadRequest) -> LoadResponse {
        let fields = HTTPFields(location.map { [("Location", $0)] } ?? [])
        return LoadResponse(
            url: request.url, head: ResponseHead(status: status, version: .http11, fields: fields, byteCount: 0),
            expectedLength: 0)
    }

    /// In one line: the method, the address, whether there is a body, and the names of the fields.
    private func line(_ target: RedirectStage.Target?) -> String {
        switch target {
        case nil: return "the response"
        case .leaveHTTP(let redirected)?: return "leaves HTTP for \(redirected.url)"
        case .follow(let next)?:
            let names = (0..<next.fields.count).map { next.fields.name(at: $0) }.joined(separator: ",")
            let address = String(decoding: next.url.absoluteForm, as: UTF8.self)
            let text = next.urlText == address ? address : "\(address) as \(next.urlText)"
            return "\(next.method) \(text)\(next.hasBody ? " with body" : "") \(names)"
        }
    }

    private static let all = "Cookie,X-Own,Content-Type,Referer"

    @Test(
        "what a response leads to",
        arguments: [
            // R-1, R-17
            (200, "/y", "the response"), (300, "/y", "the response"), (304, "/y", "the response"),
            (307, nil, "the response"), (307, "", "the response"), (307, "http://", "the response"),
            // R-2, R-3, R-4, R-5, R-6, R-9
            (301, "/y", "GET https://a.example/y Cookie,X-Own,Referer"),
            (302, "/y", "GET https://a.example/y Cookie,X-Own,Referer"),
            (303, "/y", "GET https://a.example/y Cookie,X-Own,Referer"),
            (305, "/y", "POST https://a.example/y with body \(all)"),
            (307, "/y", "POST https://a.example/y with body \(all)"),
            (308, "/y", "POST https://a.example/y with body \(all)"),
            // R-10
            (307, "https://b.example/y", "POST https://b.example/y with body X-Own,Content-Type,Referer"),
            (307, "https://a.example:444/y", "POST https://a.example:444/y with body X-Own,Content-Type,Referer"),
            // R-12, R-15
            (307, "http://a.example/y", "POST http://a.example/y with body X-Own,Content-Type"),
            // R-13: verbatim
            (307, "/y/%7e?q=%20", "POST https://a.example/y/%7e?q=%20 with body \(all)"),
            // R-14: the fragment stays, though it is not sent
            (307, "/y#part", "POST https://a.example/y as https://a.example/y#part with body \(all)"),
            // R-16
            (307, "ftp://a.example/y", "leaves HTTP for ftp://a.example/y"),
            (307, "file:///etc/passwd", "leaves HTTP for file:///etc/passwd"),
            (307, "ws://b.example/y", "leaves HTTP for ws://b.example/y"),
            (307, "WSS://a.example/y", "leaves HTTP for WSS://a.example/y"),
            // R-24: the user is in no address
            (307, "https://u:p@a.example/y", "POST https://a.example/y with body \(all)"),
        ] as [(Int, String?, String)])
    func targets(status: Int, location: String?, expected: String) throws {
        let request = try request()
        var stage = RedirectStage()
        #expect(line(try stage.next(for: response(status, location, from: request), to: request)) == expected)
        // R-7: what is no redirect is not counted.
        #expect(stage.count == (expected == "the response" ? 0 : 1))
    }

    // R-16, WS-6: and of a WebSocket
    @Test("a WebSocket is redirected to either pair of schemes", arguments: ["ws", "wss", "http", "https"])
    func webSockets(scheme: String) throws {
        let request = try request()
        var stage = RedirectStage()
        let redirect = response(307, "\(scheme)://b.example/y", from: request)
        let target = try stage.next(for: redirect, to: request, isWebSocket: true)
        #expect(line(target).hasPrefix("POST \(scheme)://b.example/y"))
    }

    // R-19
    @Test("all else is as it was") func inherited() throws {
        let request = try request()
        var stage = RedirectStage()
        let redirect = response(307, "https://b.example/y", from: request)
        guard case .follow(let next)? = try stage.next(for: redirect, to: request) else {
            Issue.record("not followed")
            return
        }
        #expect(next.idleTimeout == 12 && next.totalTimeout == 34 && next.waitsForConnectivity && next.priority == 0.7)
        #expect(next.cachePolicy == .returnCacheDataElseLoad && next.partition == "jar")
        #expect(next.assumesHTTP3 && next.allowsEarlyData && next.redirectedUser == nil)
    }

    // R-24: each redirect names a user anew, or none; one without an authority has that of the URL that it completes
    @Test(
        "the user of the address that a redirect names",
        arguments: [
            (
                "https://a.example/x", ["https://u:p@a.example/y", "https://v@a.example/y", "https://a.example/y"],
                ["u:p", "v:-", nil]
            ),
            (
                "https://u:p@a.example/x", ["y", "/z", "?q", "//a.example/z", "y"],
                ["u:p", "u:p", "u:p", nil, nil]
            ),
            ("https://a.example/x", ["https://u@b.example/y", "z", "https://b.example:444/z"], ["u:-", "u:-", nil]),
        ] as [(String, [String], [String?])])
    func users(start: String, locations: [String], expected: [String?]) throws {
        var request = try request("POST", start)
        var stage = RedirectStage()
        var users: [String?] = []
        for location in locations {
            guard case .follow(let next)? = try stage.next(for: response(307, location, from: request), to: request)
            else {
                Issue.record("not followed")
                return
            }
            users.append(next.redirectedUser.map { "\($0.user):\($0.password ?? "-")" })
            request = next
        }
        #expect(users == expected)
        #expect(!request.urlText.contains("@"))
    }

    // R-7, R-8
    @Test("the redirect that is one too many fails, with its URL") func tooMany() throws {
        var request = try request("GET", body: .none)
        var stage = RedirectStage()
        for number in 1...20 {
            guard case .follow(let next)? = try stage.next(for: response(301, "/\(number)", from: request), to: request)
            else {
                Issue.record("not followed")
                return
            }
            request = next
        }
        #expect(stage.count == 20 && request.urlText == "https://a.example/20")
        let redirect = response(301, "/21", from: request)
        let error = #expect(throws: LoadError.self) { _ = try stage.next(for: redirect, to: request) }
        #expect(error?.code == -1007 && error?.url == "https://a.example/20")
        // A response that is no redirect is one all the same.
        #expect(line(try stage.next(for: response(200, nil, from: request), to: request)) == "the response")
    }
}

extension RedirectStage {
    fileprivate mutating func next(for response: LoadResponse, to request: LoadRequest) throws(LoadError) -> Target? {
        try next(for: response, to: request, isWebSocket: false)
    }
}
