internal import Foundation

extension DelegateReference {
    package func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) -> Bool {
        deliver(.sessionDidBecomeInvalid) { delegate.urlSession(session, didBecomeInvalidWithError: error) }
    }

    package func urlSession(
        _ session: URLSession, didReceive challenge: URLAuthenticationChallenge,
        reply: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) -> Bool {
        let delegate = delegate
        return ask(
            .sessionDidReceiveChallenge, .sessionDidReceiveChallengeAsync, reply: { reply($0.0, $0.1) },
            call: { answer in
                delegate.urlSession(session, didReceive: challenge) { answer(($0, $1)) }
            },
            await: { await delegate.urlSession(session, didReceive: challenge) })
    }

    package func urlSessionDidFinishEvents(forBackgroundURLSession session: URLSession) -> Bool {
        deliver(.sessionDidFinishEvents) { delegate.urlSessionDidFinishEvents(forBackgroundURLSession: session) }
    }
}
