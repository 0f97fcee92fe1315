import Foundation
import TestSupport
import Testing
import URLLoading

/// Handlers that are called more than once.
@Suite(.leavesNothing) struct RepeatedAnswerTests {
    // the first answer counts, and only for its own question
    @Test("the handler of one redirect does not answer the next") func redirects() async throws {
        let server = try ScriptedServer.answering { request in
            switch request.target {
            case "/a": .redirect(to: "/b")
            case "/b": .redirect(to: "/c")
            default: .text("end")
            }
        }
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let handlers = Watched<[@Sendable (URLRequest?) -> Void]>([])
        let wrong = URLRequest(url: server.url("/wrong"))
        delegate.redirect = { proposed, answer in
            let earlier = handlers.withValue { handlers in
                defer { handlers.append(answer) }
                return handlers
            }
            for handler in earlier { handler(wrong) }
            answer(proposed)
            answer(wrong)
        }
        let session = URLSession(delegate) { _ in }
        session.dataTask(with: server.url("/a")).resume()
        session.finishTasksAndInvalidate()
        #expect(
            try await delegate.callsUntilInvalid() == [
                .created(1), .redirect(1, 302), .redirect(1, 302), .response(1, 200), .data(1, "end"), .metrics(1),
                .completed(1, nil), .invalid,
            ])
        #expect(server.requests.map(\.target) == ["/a", "/b", "/c"])
    }

    // T-44: a second answer does not cancel the task either
    @Test("the first disposition of a response counts") func dispositions() async throws {
        let server = try ScriptedServer.answering(.text("body"))
        defer { server.stop() }
        let delegate = RecordingDelegate()
        delegate.answer = { _, answer in
            answer(.allow)
            answer(.cancel)
        }
        let session = URLSession(delegate) { _ in }
        session.dataTask(with: server.url()).resume()
        session.finishTasksAndInvalidate()
        #expect(
            try await delegate.callsUntilInvalid() == [
                .created(1), .response(1, 200), .data(1, "body"), .metrics(1), .completed(1, nil), .invalid,
            ])
    }
}
