internal import Foundation

extension DelegateReference {
    package func urlSession(_ session: URLSession, didCreateTask task: URLSessionTask) -> Bool {
        guard let taskDelegate else { return false }
        return deliver(.taskDidCreate) { taskDelegate.urlSession(session, didCreateTask: task) }
    }

    package func urlSession(
        _ session: URLSession, task: URLSessionTask, willBeginDelayedRequest request: URLRequest,
        reply: @escaping @Sendable (URLSession.DelayedRequestDisposition, URLRequest?) -> Void
    ) -> Bool {
        guard let taskDelegate else { return false }
        return ask(
            .taskWillBeginDelayedRequest, .taskWillBeginDelayedRequestAsync, reply: { reply($0.0, $0.1) },
            call: { answer in
                taskDelegate.urlSession(session, task: task, willBeginDelayedRequest: request) { answer(($0, $1)) }
            },
            await: { await taskDelegate.urlSession(session, task: task, willBeginDelayedRequest: request) })
    }

    package func urlSession(_ session: URLSession, taskIsWaitingForConnectivity task: URLSessionTask) -> Bool {
        guard let taskDelegate else { return false }
        return deliver(.taskIsWaitingForConnectivity) {
            taskDelegate.urlSession(session, taskIsWaitingForConnectivity: task)
        }
    }

    package func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, reply: @escaping @Sendable (URLRequest?) -> Void
    ) -> Bool {
        guard let taskDelegate else { return false }
        return ask(
            .taskWillPerformRedirection, .taskWillPerformRedirectionAsync, reply: reply,
            call: { answer in
                taskDelegate.urlSession(
                    session, task: task, willPerformHTTPRedirection: response, newRequest: request,
                    completionHandler: answer)
            },
            await: {
                await taskDelegate.urlSession(
                    session, task: task, willPerformHTTPRedirection: response, newRequest: request)
            })
    }

    package func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        reply: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) -> Bool {
        guard let taskDelegate else { return false }
        return ask(
            .taskDidReceiveChallenge, .taskDidReceiveChallengeAsync, reply: { reply($0.0, $0.1) },
            call: { answer in
                taskDelegate.urlSession(session, task: task, didReceive: challenge) { answer(($0, $1)) }
            },
            await: { await taskDelegate.urlSession(session, task: task, didReceive: challenge) })
    }

    package func urlSession(
        _ session: URLSession, needNewBodyStreamForTask task: URLSessionTask,
        reply: @escaping @Sendable (InputStream?) -> Void
    ) -> Bool {
        guard let taskDelegate else { return false }
        return ask(
            .taskNeedsNewBodyStream, .taskNeedsNewBodyStreamAsync,
            reply: { (handed: SendableInputStream) in reply(handed.stream) },
            call: { answer in
                taskDelegate.urlSession(
                    session, task: task, needNewBodyStream: { answer(SendableInputStream(stream: $0)) })
            },
            await: {
                SendableInputStream(stream: await taskDelegate.urlSession(session, needNewBodyStreamForTask: task))
            })
    }

    package func urlSession(
        _ session: URLSession, needNewBodyStreamForTask task: URLSessionTask, from offset: Int64,
        reply: @escaping @Sendable (InputStream?) -> Void
    ) -> Bool {
        guard let taskDelegate else { return false }
        return ask(
            .taskNeedsNewBodyStreamFromOffset, .taskNeedsNewBodyStreamFromOffsetAsync,
            reply: { (handed: SendableInputStream) in reply(handed.stream) },
            call: { answer in
                taskDelegate.urlSession(session, task: task, needNewBodyStreamFrom: offset) {
                    answer(SendableInputStream(stream: $0))
                }
            },
            await: {
                SendableInputStream(
                    stream: await taskDelegate.urlSession(session, needNewBodyStreamForTask: task, from: offset))
            })
    }

    package func urlSession(
        _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) -> Bool {
        guard let taskDelegate else { return false }
        return deliver(.taskDidSendBodyData) {
            taskDelegate.urlSession(
                session, task: task, didSendBodyData: bytesSent, totalBytesSent: totalBytesSent,
                totalBytesExpectedToSend: totalBytesExpectedToSend)
        }
    }

    package func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceiveInformationalResponse response: HTTPURLResponse
    ) -> Bool {
        guard let taskDelegate else { return false }
        return deliver(.taskDidReceiveInformationalResponse) {
            taskDelegate.urlSession(session, task: task, didReceiveInformationalResponse: response)
        }
    }

    package func urlSession(
        _ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics
    ) -> Bool {
        guard let taskDelegate else { return false }
        return deliver(.taskDidFinishCollectingMetrics) {
            taskDelegate.urlSession(session, task: task, didFinishCollecting: metrics)
        }
    }

    package func urlSession(
        _ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?
    ) -> Bool {
        guard let taskDelegate else { return false }
        return deliver(.taskDidComplete) { taskDelegate.urlSession(session, task: task, didCompleteWithError: error) }
    }
}

/// A body stream in transit from the delegate to the loader. Ownership moves with it: only the receiver uses the
/// stream.
struct SendableInputStream: @unchecked Sendable {
    var stream: InputStream?
}
