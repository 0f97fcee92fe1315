import Foundation
import TestSupport
import Testing
import URLLoading

/// Redirects to URLs with user information.
@Suite(.leavesNothing) struct RedirectCredentialTests {
    private let basicAuth = BasicAuthResponder()

    // R-24
    @Test("the user of the new address is proposed", arguments: [true, false])
    func theUserOfTheNewAddressIsProposed(isAsked: Bool) async throws {
        let basicAuth = basicAuth
        let target = try ScriptedServer.answering { basicAuth.answer($0) }
        defer { target.stop() }
        let server = try ScriptedServer.answering { [port = target.port] _ in
            .redirect(to: "http://Mufasa:Circle%20of%20Life@127.0.0.1:\(port)/", status: 302)
        }
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let proposed = EventRecorder<String?>()
        if isAsked {
            delegate.challenge = { challenge, handler in
                proposed.record(challenge.proposedCredential?.user)
                handler(.performDefaultHandling, nil)
            }
        }
        let session = URLSession(delegate)
        let task = session.dataTask(with: server.url())
        task.resume()
        session.finishTasksAndInvalidate()
        _ = try await delegate.callsUntilInvalid()
        #expect((task.response as? HTTPURLResponse)?.statusCode == 200)
        #expect(task.currentRequest?.url == target.url("/"))
        #expect(proposed.events == (isAsked ? ["Mufasa"] : []))
    }

    // R-13, R-24: Foundation encodes the brackets in the URL that the delegate has
    @Test(
        "the user of a URL stays with relative redirects, and with an equal URL of the delegate",
        arguments: ["next", "http://Mufasa:Circle%20of%20Life@HOST/next?a[b]=c"], [true, false])
    func theUserStays(location: String, asks: Bool) async throws {
        let basicAuth = basicAuth
        let server = try ScriptedServer.answering { (request: ReceivedRequest) -> CannedResponse in
            switch request.path {
            case "/start":
                .redirect(to: location.replacingOccurrences(of: "HOST", with: request["Host"] ?? ""))
            case "/next": .redirect(to: "/end")
            default: basicAuth.answer(request)
            }
        }
        defer { server.stop() }
        let userinfo = location == "next" ? "Mufasa:Circle%20of%20Life@" : ""
        let start = try #require(URL(string: "http://\(userinfo)127.0.0.1:\(server.port)/start"))
        let session = asks ? URLSession(RecordingDelegate()) : URLSession { _ in }
        defer { session.finishTasksAndInvalidate() }
        let (_, response) = try await session.data(from: start)
        #expect((response as? HTTPURLResponse)?.statusCode == 200)
        #expect(
            server.authorizations == ["/start -", "/next -", "/end -", "/end \(basicAuth.field())"])
    }
}
