import Foundation
import FoundationNetworking

let asyncCases: [Case] = [
    Case("T-55", name: "async data") {
        let server = try Server(Response(404, [], "a"))
        let (data, response) = try await makeSession().data(from: server.url())
        try equal(text(data), "a", "body")
        try equal((response as? HTTPURLResponse)?.statusCode, 404, "status")
    },
    Case("T-55", name: "async data throws a URLError") {
        do {
            _ = try await makeSession().data(from: try refusedURL())
            throw Mismatch(reason: "nothing was thrown")
        } catch let error as URLError {
            try equal(error.code, .cannotConnectToHost, "code")
        }
    },
    Case("T-55", name: "the delegate of async data is asked") {
        let server = try Server { $0.path == "/" ? .redirect(302, to: "/new") : Response(200) }
        let recorder = Recorder { $0.redirect = { _, _ in nil } }
        let (_, response) = try await makeSession().data(for: URLRequest(url: server.url()), delegate: recorder)
        try equal((response as? HTTPURLResponse)?.statusCode, 302, "status")
    },
    Case("T-55", name: "the delegate of async data gets challenges") {
        let server = try Server {
            $0.value("Authorization") == nil
                ? Response(401, [("WWW-Authenticate", "Basic realm=\"r\"")]) : Response(200, [], "in")
        }
        let recorder = Recorder {
            $0.challenge = { _ in (.useCredential, URLCredential(user: "u", password: "p", persistence: .none)) }
        }
        let (data, _) = try await makeSession().data(for: URLRequest(url: server.url()), delegate: recorder)
        try equal(text(data), "in", "body")
    },
    Case("T-56", name: "cancelling the Swift task cancels the load") {
        let server = try Server { connection, _ in connection.waitForEnd() }
        let url = server.url()
        let task = Task { try await makeSession().data(from: url) }
        await until { server.connectionCount == 1 }
        task.cancel()
        let result = await task.result
        guard case .failure(let error) = result else { throw Mismatch(reason: "it ended with success") }
        try equal(code(error), NSURLErrorCancelled, "error")
    },
    Case("T-57", name: "the file of async download stays") {
        let server = try Server(Response(200, [], "hello"))
        let (file, response) = try await makeSession().download(from: server.url())
        await quiet(200)
        try equal(try String(contentsOf: file, encoding: .utf8), "hello", "file")
        try equal((response as? HTTPURLResponse)?.statusCode, 200, "status")
    },
    Case("T-55", name: "fifty async loads at once") {
        let server = try Server { Response(200, [], $0.path) }
        let session = makeSession()
        let wrong = try await withThrowingTaskGroup(of: Bool.self) { group in
            for number in 0..<50 {
                let url = server.url("/\(number)")
                group.addTask { text(try await session.data(from: url).0) == "/\(number)" }
            }
            return try await group.reduce(0) { $0 + ($1 ? 0 : 1) }
        }
        try equal(wrong, 0, "wrong bodies")
    },
]
