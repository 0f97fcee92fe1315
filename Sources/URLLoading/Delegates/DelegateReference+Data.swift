internal import Foundation

extension DelegateReference {
    package func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        reply: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) -> Bool {
        guard let dataDelegate else { return false }
        return ask(
            .dataTaskDidReceiveResponse, .dataTaskDidReceiveResponseAsync, reply: reply,
            call: { answer in
                dataDelegate.urlSession(session, dataTask: dataTask, didReceive: response, completionHandler: answer)
            },
            await: { await dataDelegate.urlSession(session, dataTask: dataTask, didReceive: response) })
    }

    package func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didBecome downloadTask: URLSessionDownloadTask
    ) -> Bool {
        guard let dataDelegate else { return false }
        return deliver(.dataTaskDidBecomeDownload) {
            dataDelegate.urlSession(session, dataTask: dataTask, didBecome: downloadTask)
        }
    }

    package func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didBecome streamTask: URLSessionStreamTask
    ) -> Bool {
        guard let dataDelegate else { return false }
        return deliver(.dataTaskDidBecomeStream) {
            dataDelegate.urlSession(session, dataTask: dataTask, didBecome: streamTask)
        }
    }

    package func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) -> Bool {
        guard let dataDelegate else { return false }
        return deliver(.dataTaskDidReceiveData) {
            dataDelegate.urlSession(session, dataTask: dataTask, didReceive: data)
        }
    }

    package func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, willCacheResponse proposedResponse: CachedURLResponse,
        reply: @escaping @Sendable (CachedURLResponse?) -> Void
    ) -> Bool {
        guard let dataDelegate else { return false }
        return ask(
            .dataTaskWillCacheResponse, .dataTaskWillCacheResponseAsync, reply: reply,
            call: { answer in
                dataDelegate.urlSession(
                    session, dataTask: dataTask, willCacheResponse: proposedResponse, completionHandler: answer)
            },
            await: {
                await dataDelegate.urlSession(session, dataTask: dataTask, willCacheResponse: proposedResponse)
            })
    }
}
