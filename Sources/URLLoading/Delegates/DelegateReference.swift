internal import Foundation

/// A delegate with what is known of its class: which protocols it conforms to, found once, and which optional methods
/// it lacks, found when they are first called.
///
/// Every question can be asked in two spellings. `nil` as an answer says that the class has neither.
final class DelegateReference: Sendable {
    let session: any URLSessionDelegate
    let task: (any URLSessionTaskDelegate)?
    let data: (any URLSessionDataDelegate)?
    private let capabilities: DelegateCapabilities

    init(_ delegate: any URLSessionDelegate) {
        session = delegate
        task = delegate as? any URLSessionTaskDelegate
        data = delegate as? any URLSessionDataDelegate
        capabilities = DelegateCapabilities.of(delegate)
        // Marked again for each instance, which is cheap; a class either conforms or does not.
        if task == nil { capabilities.mark(.ofTasks) }
        if data == nil { capabilities.mark(.ofDataTasks) }
    }

    /// False once the class is known to lack that method.
    @inline(__always)
    func mayHave(_ method: DelegateMethod) -> Bool { !capabilities.lacks(method) }

    func sessionDidBecomeInvalid(_ session: URLSession, error: (any Error)?) {
        if mayHave(.sessionDidBecomeInvalid) {
            self.session.urlSession(session, didBecomeInvalidWithError: error)
        }
    }

    func didReceive(
        _ response: URLResponse, _ session: URLSession, _ dataTask: URLSessionDataTask,
        _ answer: @escaping @Sendable (URLSession.ResponseDisposition?) -> Void
    ) {
        guard let data else { return answer(nil) }
        if mayHave(.dataTaskDidReceiveResponse) {
            data.urlSession(session, dataTask: dataTask, didReceive: response) { [self] disposition in
                if mayHave(.dataTaskDidReceiveResponse) { answer(disposition) }
            }
            if mayHave(.dataTaskDidReceiveResponse) { return }
        }
        guard mayHave(.dataTaskDidReceiveResponseAsync) else { return answer(nil) }
        Task {
            let disposition = await data.urlSession(session, dataTask: dataTask, didReceive: response)
            answer(mayHave(.dataTaskDidReceiveResponseAsync) ? disposition : nil)
        }
    }

    func willPerformRedirection(
        _ response: HTTPURLResponse, _ proposed: URLRequest, _ session: URLSession, _ task: URLSessionTask,
        _ answer: @escaping @Sendable (URLRequest??) -> Void
    ) {
        guard let delegate = self.task else { return answer(nil) }
        if mayHave(.taskWillPerformRedirection) {
            delegate.urlSession(session, task: task, willPerformHTTPRedirection: response, newRequest: proposed) {
                [self] request in
                if mayHave(.taskWillPerformRedirection) { answer(.some(request)) }
            }
            if mayHave(.taskWillPerformRedirection) { return }
        }
        guard mayHave(.taskWillPerformRedirectionAsync) else { return answer(nil) }
        Task {
            let request = await delegate.urlSession(
                session, task: task, willPerformHTTPRedirection: response, newRequest: proposed)
            answer(mayHave(.taskWillPerformRedirectionAsync) ? .some(request) : nil)
        }
    }
}
