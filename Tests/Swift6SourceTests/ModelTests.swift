import Foundation
import TestSupport
import Testing

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

struct Quote: Codable, Equatable, Sendable {
    var text: String
}

/// What stands behind a view: bound to the main actor, with `async` calls and with completion handlers.
@MainActor final class QuoteModel {
    private(set) var quotes: [Quote] = []
    private(set) var failure: String?
    var onChange: () -> Void = {}

    private let session: URLSession
    private var task: URLSessionDataTask?

    init(session: URLSession = .shared) {
        self.session = session
    }

    func load(_ url: URL) async {
        do {
            let (data, response) = try await session.data(from: url)
            guard let http = response as? HTTPURLResponse, (200..<300).contains(http.statusCode) else {
                throw URLError(.badServerResponse)
            }
            quotes = try JSONDecoder().decode([Quote].self, from: data)
        } catch URLError.badServerResponse {
            failure = "bad response"
        } catch let error as URLError where error.code == .cannotConnectToHost {
            failure = "no connection"
        } catch {
            failure = error.localizedDescription
        }
    }

    func loadWithHandler(_ url: URL) {
        task = session.dataTask(with: url) { [weak self] data, response, error in
            guard let data, error == nil else { return }
            DispatchQueue.main.async { self?.show(data) }
        }
        task?.resume()
    }

    func loadInTask(_ url: URL) {
        let task = session.dataTask(with: URLRequest(url: url)) { [weak self] data, _, _ in
            Task { @MainActor in
                guard let self, let data else { return }
                self.show(data)
            }
        }
        task.resume()
    }

    func follow(_ url: URL) async throws {
        let (bytes, _) = try await session.bytes(from: url)
        for try await line in bytes.lines {
            quotes.append(Quote(text: line))
        }
    }

    private func show(_ data: Data) {
        quotes = (try? JSONDecoder().decode([Quote].self, from: data)) ?? []
        onChange()
    }
}

@MainActor @Suite struct ModelTests {
    private let session = URLSession(configuration: .ephemeral)

    private func makeServer() throws -> ScriptedServer {
        try .answering { request in
            switch request.path {
            case "/quotes": try .json([Quote(text: "one"), Quote(text: "two")])
            case "/lines": .text("one\ntwo\n")
            default: .status(404)
            }
        }
    }

    @Test("a model that awaits") func aModelThatAwaits() async throws {
        let server = try makeServer()
        defer { server.stop() }
        let model = QuoteModel(session: session)
        await model.load(server.url("/quotes"))
        #expect(model.quotes == [Quote(text: "one"), Quote(text: "two")])
        await model.load(server.url("/absent"))
        #expect(model.failure == "bad response")
        let refusing = try RefusingPort()
        await model.load(try #require(URL(string: "http://127.0.0.1:\(refusing.port)/")))
        #expect(model.failure == "no connection")
        try await model.follow(server.url("/lines"))
        #expect(model.quotes.map(\.text) == ["one", "two", "one", "two"])
        session.invalidateAndCancel()
    }

    @Test("a model with handlers", arguments: [QuoteModel.loadWithHandler, QuoteModel.loadInTask])
    func aModelWithHandlers(load: @MainActor (QuoteModel) -> @MainActor (URL) -> Void) async throws {
        let server = try makeServer()
        defer { server.stop() }
        let model = QuoteModel(session: session)
        await withCheckedContinuation { continuation in
            model.onChange = { continuation.resume() }
            load(model)(server.url("/quotes"))
        }
        #expect(model.quotes == [Quote(text: "one"), Quote(text: "two")])
        session.invalidateAndCancel()
    }
}
