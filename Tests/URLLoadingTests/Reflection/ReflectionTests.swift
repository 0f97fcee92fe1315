import Foundation
import Testing
import URLLoading

/// The output of `dump`, `print` and `String(reflecting:)`.
@Suite struct ReflectionTests {
    private static let secret = "hunter2"

    private static func texts(_ value: Any) -> [String] {
        var dumped = ""
        dump(value, to: &dumped)
        return [dumped, String(describing: value), String(reflecting: value)]
    }

    // A password has no place in a log.
    @Test("no password is shown") func noPassword() throws {
        let url = try #require(URL(string: "http://user:\(Self.secret)@example.org/a"))
        let credential = URLCredential(user: "user", password: Self.secret, persistence: .forSession)
        let space = URLProtectionSpace(
            host: "example.org", port: 80, protocol: "http", realm: "r",
            authenticationMethod: NSURLAuthenticationMethodHTTPBasic)
        let storage = URLCredentialStorage()
        storage.setDefaultCredential(credential, for: space)
        let cookie = try #require(
            HTTPCookie(properties: [.name: "a", .value: Self.secret, .domain: "example.org", .path: "/"]))
        let cookies = HTTPCookieStorage()
        cookies.setCookie(cookie)
        var request = URLRequest(url: url)
        for name in ["Authorization", "Cookie", "Proxy-Authorization", "X-Api-Key", "Private-Token", "X-Auth"] {
            request.setValue(Self.secret, forHTTPHeaderField: name)
        }
        request.mainDocumentURL = url
        request.httpMethod = "POST"
        var form = request
        form.httpBody = Data("password=\(Self.secret)".utf8)
        // `dump` writes the bytes as numbers.
        #expect(Mirror(reflecting: form).children.first { $0.label == "httpBody" }?.value as? String == "16 bytes")
        let configuration = URLSessionConfiguration.ephemeral
        configuration.httpAdditionalHeaders = ["Authorization": "Bearer \(Self.secret)"]
        configuration.connectionProxyDictionary = ["kCFProxyPasswordKey": Self.secret]
        var proxy = ProxyConfiguration(httpCONNECTProxy: .hostPort(host: "proxy.example", port: 80))
        proxy.applyCredential(username: "user", password: Self.secret)
        configuration.proxyConfigurations = [proxy]
        configuration.urlCredentialStorage = storage
        configuration.httpCookieStorage = cookies
        let session = URLSession(configuration: configuration)
        defer { session.invalidateAndCancel() }
        let challenge = URLAuthenticationChallenge(
            protectionSpace: space, proposedCredential: credential, previousFailureCount: 0, failureResponse: nil,
            error: nil, sender: Sender())
        let response = try #require(
            HTTPURLResponse(
                url: url, statusCode: 200, httpVersion: nil,
                headerFields: ["Set-Cookie": "sid=\(Self.secret)", "X-Auth-Token": Self.secret]))
        let plain = URLResponse(url: url, mimeType: nil, expectedContentLength: -1, textEncodingName: nil)
        let values: [Any] = [
            response, plain, CachedURLResponse(response: response, data: Data(Self.secret.utf8)), credential, space,
            storage, cookie, cookies, request, form, request as NSURLRequest, form as NSURLRequest, configuration,
            proxy,
            session, session.dataTask(with: request), challenge,
        ]
        for value in values {
            for text in Self.texts(value) { #expect(!text.contains(Self.secret), "\(type(of: value))") }
        }
    }

    private final class Sender: NSObject, URLAuthenticationChallengeSender {
        func use(_ credential: URLCredential, for challenge: URLAuthenticationChallenge) {}
        func continueWithoutCredential(for challenge: URLAuthenticationChallenge) {}
        func cancel(_ challenge: URLAuthenticationChallenge) {}
        func performDefaultHandling(for challenge: URLAuthenticationChallenge) {}
        func rejectProtectionSpaceAndContinue(with challenge: URLAuthenticationChallenge) {}
    }

    @Test("values that are not secret are shown") func others() throws {
        var request = URLRequest(url: try #require(URL(string: "http://user:x@example.org/a")))
        request.setValue("text/html", forHTTPHeaderField: "Accept")
        request.setValue("x", forHTTPHeaderField: "Authorization")
        #expect(request.description == "http://user@example.org/a")
        let fields = Mirror(reflecting: request).children.first { $0.label == "allHTTPHeaderFields" }?.value
        #expect(fields as? [String: String] == ["Accept": "text/html", "Authorization": "(hidden)"])
        let credential = URLCredential(user: "user", password: "x", persistence: .forSession)
        #expect(Mirror(reflecting: credential).children.map(\.label) == ["user", "persistence", "hasPassword"])
    }
}
