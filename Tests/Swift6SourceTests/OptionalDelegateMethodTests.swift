import Foundation
import Testing
import URLLoading

/// Calls with a question mark, as programs for Apple's platforms pass events on.
@Suite struct OptionalDelegateMethodTests {
    let session = URLSession(configuration: .ephemeral)
    let task = URLSessionDataTask()
    let url = URL(string: "https://example.com/")!

    var redirect: HTTPURLResponse {
        HTTPURLResponse(url: url, statusCode: 302, httpVersion: nil, headerFields: nil)!
    }

    var challenge: URLAuthenticationChallenge {
        URLAuthenticationChallenge(
            protectionSpace: URLProtectionSpace(
                host: "example.com", port: 443, protocol: "https", realm: nil, authenticationMethod: nil),
            proposedCredential: nil, previousFailureCount: 0, failureResponse: nil, error: nil,
            sender: ChallengeSender())
    }

    // T-66: on Apple's platforms the call of a missing method is nil, and its handler is not called.
    @Test func absentMethods() async {
        let delegate: any URLSessionDataDelegate = Bare()
        for _ in 0..<2 {
            #expect(delegate.urlSession?(session, didBecomeInvalidWithError: nil) == nil)
            #expect(delegate.urlSession?(session, task: task, didCompleteWithError: nil) == nil)
            #expect(delegate.urlSession?(session, dataTask: task, didReceive: Data()) == nil)
            #expect(delegate.urlSessionDidFinishEvents?(forBackgroundURLSession: session) == nil)
            let asked: Void? = delegate.urlSession?(
                session, task: task, willPerformHTTPRedirection: redirect, newRequest: URLRequest(url: url)
            ) { _ in Issue.record("the handler was called") }
            #expect(asked == nil)
            let answer = await delegate.urlSession?(session, dataTask: task, didReceive: URLResponse())
            #expect(answer == nil)
        }
        // The methods of a protocol that the class does not conform to.
        let other: any URLSessionDelegate = Bare()
        #expect((other as? any URLSessionDownloadDelegate) == nil)
        #expect(other.urlSession?(session, webSocketTask: URLSessionWebSocketTask(), didOpenWithProtocol: nil) == nil)
    }

    // T-66, T-67
    @Test func presentMethods() async {
        let delegate = Complete()
        let data: any URLSessionDataDelegate = delegate
        #expect(data.urlSession?(session, dataTask: task, didReceive: Data([1, 2, 3])) != nil)
        #expect(data.urlSession!(session, task: task, didCompleteWithError: URLError(.timedOut)) != nil)
        #expect(data.urlSessionDidFinishEvents?(forBackgroundURLSession: session) != nil)
        nonisolated(unsafe) var answers: [URLSession.ResponseDisposition] = []
        data.urlSession?(session, dataTask: task, didReceive: URLResponse()) { answers.append($0) }
        #expect(answers == [.becomeDownload])
        let answer = await data.urlSession?(session, dataTask: task, didReceive: URLResponse())
        #expect(answer == .becomeDownload)
        #expect(delegate.events == ["3 bytes", "ended -1001", "finished events"])
    }

    // T-66: as an Objective-C method has both forms.
    @Test func methodsInTheOtherForm() async {
        let delegate: any URLSessionTaskDelegate = Asynchronous()
        let disposition = await withCheckedContinuation { continuation in
            let asked: Void? = delegate.urlSession?(session, didReceive: challenge) { disposition, _ in
                continuation.resume(returning: disposition)
            }
            #expect(asked != nil)
        }
        #expect(disposition == .cancelAuthenticationChallenge)
        let (answer, credential) =
            await delegate.urlSession?(session, task: task, didReceive: challenge) ?? (.performDefaultHandling, nil)
        #expect(answer == .performDefaultHandling)
        #expect(credential == nil)
        let request = await delegate.urlSession?(
            session, task: task, willPerformHTTPRedirection: redirect, newRequest: URLRequest(url: url))
        #expect(request == .some(nil))
    }

    @Test func sendersOfChallenges() {
        let challenge = challenge
        challenge.sender?.performDefaultHandling?(for: challenge)
        challenge.sender?.rejectProtectionSpaceAndContinue?(with: challenge)
        #expect((challenge.sender as? ChallengeSender)?.answers == ["default", "continue"])
    }
}

private final class Bare: NSObject, URLSessionDataDelegate {}

private final class Complete: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    // Sendable because one test uses it.
    var events: [String] = []

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        events.append("\(data.count) bytes")
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping (URLSession.ResponseDisposition) -> Void
    ) {
        completionHandler(.becomeDownload)
        completionHandler(.cancel)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        events.append("ended \((error as? URLError)?.code.rawValue ?? 0)")
    }

    func urlSessionDidFinishEvents(forBackgroundURLSession session: URLSession) { events.append("finished events") }
}

private final class Asynchronous: NSObject, URLSessionTaskDelegate {
    func urlSession(
        _ session: URLSession, didReceive challenge: URLAuthenticationChallenge
    ) async -> (URLSession.AuthChallengeDisposition, URLCredential?) {
        await Task.yield()
        return (.cancelAuthenticationChallenge, nil)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest
    ) async -> URLRequest? { nil }
}

private final class ChallengeSender: NSObject, URLAuthenticationChallengeSender {
    var answers: [String] = []

    func use(_ credential: URLCredential, for challenge: URLAuthenticationChallenge) { answers.append("use") }
    func continueWithoutCredential(for challenge: URLAuthenticationChallenge) { answers.append("continue") }
    func cancel(_ challenge: URLAuthenticationChallenge) { answers.append("cancel") }
    func performDefaultHandling(for challenge: URLAuthenticationChallenge) { answers.append("default") }
}
