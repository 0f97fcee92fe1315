import Foundation
import TestSupport
import Testing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// A class that is not `Sendable`, with handlers that capture it.
private class Loader {
    var result: Data?
    var task: URLSessionDataTask?
    var session: URLSession = .shared

    func load(_ url: URL, completion: @escaping (Result<Data, Error>) -> Void) {
        task = session.dataTask(with: url) { [weak self] data, response, error in
            guard let self = self else { return }
            self.result = data
            if let error = error {
                completion(.failure(error))
                return
            }
            completion(.success(data ?? Data()))
        }
        task?.resume()
    }

    func load(_ request: URLRequest, group: DispatchGroup) {
        group.enter()
        session.dataTask(with: request) { data, _, _ in
            self.result = data
            group.leave()
        }.resume()
    }

    func load(_ url: URL, then done: DispatchSemaphore) {
        self.done = done
        session.dataTask(with: url, completionHandler: handle).resume()
    }

    private var done: DispatchSemaphore?

    private func handle(data: Data?, response: URLResponse?, error: Error?) {
        result = data
        done?.signal()
    }

    func cancelAll() {
        session.getAllTasks { tasks in
            self.result = nil
            tasks.forEach { $0.cancel() }
        }
        session.getTasksWithCompletionHandler { data, _, _ in
            self.result = nil
            data.forEach { $0.cancel() }
        }
    }
}

private func waited(_ session: URLSession, _ url: URL) -> (Data?, Error?) {
    var result: (Data?, Error?)
    let done = DispatchSemaphore(value: 0)
    session.dataTask(with: url) { data, _, error in
        result = (data, error)
        done.signal()
    }.resume()
    done.wait()
    return result
}

@Suite struct ClosureTests {
    @Test("handlers that change what they capture") func handlersThatChangeWhatTheyCapture() throws {
        let server = try ScriptedServer.answering(.text("body"))
        defer { server.stop() }
        let session = URLSession(configuration: .ephemeral)
        let body = Data("body".utf8)
        #expect(waited(session, server.url()).0 == body)
        let refusing = try RefusingPort()
        let refused = try #require(URL(string: "http://127.0.0.1:\(refusing.port)/"))
        #expect((waited(session, refused).1 as? URLError)?.code == .cannotConnectToHost)

        let loader = Loader()
        loader.session = session
        let group = DispatchGroup()
        group.enter()
        var answer: Result<Data, Error>?
        loader.load(server.url()) {
            answer = $0
            group.leave()
        }
        group.wait()
        #expect(try answer?.get() == body)
        #expect(loader.result == body)

        loader.result = nil
        loader.load(URLRequest(url: server.url()), group: group)
        group.wait()
        #expect(loader.result == body)

        loader.result = nil
        let done = DispatchSemaphore(value: 0)
        loader.load(server.url(), then: done)
        done.wait()
        #expect(loader.result == body)

        group.enter()
        loader.cancelAll()
        session.reset {
            loader.result = nil
            group.leave()
        }
        group.wait()
        group.enter()
        session.flush { group.leave() }
        group.wait()
        #expect(loader.result == nil)
        session.invalidateAndCancel()
    }
}
