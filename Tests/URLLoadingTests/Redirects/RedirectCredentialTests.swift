import Foundation
import TestSupport
import Testing
import URLLoading

/// Redirects to URLs with user information.
@Suite(.leavesNothing) struct RedirectCredentialTests {
    private let basicAuth = BasicAuthResponder()

    //
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
}
