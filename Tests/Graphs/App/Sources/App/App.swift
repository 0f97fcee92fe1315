import Client
import Foundation
import Generating
import Models
import Neighbours
import Sessions
import Stubs

#if canImport(FoundationNetworking)
    @preconcurrency import FoundationNetworking
#endif

/// Inherits from a class of another package that inherits from one of the library.
final class OwnStub: StubProtocol {
    override class var host: String { "own" }
}

final class OwnClient: Client, @unchecked Sendable {
    override func request(_ path: String, method: String) -> URLRequest {
        var request = super.request(path, method: method)
        request.timeoutInterval = 10
        return request
    }
}

extension URLSession {
    func twice(_ request: URLRequest) async throws -> Int {
        try await data(for: request).0.count + data(for: request).0.count
    }
}

@main enum App {
    static let revision = 1

    static func main() async throws {
        guard let base = CommandLine.arguments.dropFirst().first.flatMap({ URL(string: $0) }) else { exit(2) }
        print(
            "revisions", revision, Client.revision, Stubs.revision, Item.revision, revisionOfNeighbours,
            revisionOfGenerating, revisionOfTransports)
        print("modules", String(reflecting: URLSession.self), moduleOfClient(), moduleOfScopedImport())

        let client = OwnClient(base: base, configuration: .ephemeral)
        client.decorate = { $0.setValue("app", forHTTPHeaderField: "X-App") }
        let items = try await client.items()
        print("items", items.map(\.name))
        print("contents", try items.map { try String(decoding: $0.contents(), as: UTF8.self) })
        print("twice", try await client.session.twice(client.request("text", method: "GET")))
        let task = client.load("text") { @Sendable _ in }
        print(
            "state", Client.describe(URLSession.shared.dataTask(with: base).state),
            task.originalRequest?.httpMethod ?? "")
        do {
            _ = try await client.send(client.request("missing", method: "GET"))
        } catch {
            print("missing", error)
        }
        do {
            _ = try await URLSession.shared.data(from: base.appendingPathComponent("drop"))
        } catch let error as URLError {
            print("dropped", error.code == .networkConnectionLost, error.failingURL?.path ?? "")
        }

        let stubbed = OwnClient(
            base: URL(string: "http://own/") ?? base, configuration: .stubbed(by: OwnStub.self))
        let (stub, response) = try await stubbed.send(stubbed.request("x", method: "GET"))
        print(
            "stub", response.statusCode, response.value(forHTTPHeaderField: "x-stub") ?? "",
            String(decoding: stub, as: UTF8.self))

        print("generated", generated, "by a macro", answerOfGenerating())
        for (door, outcome) in doors(base) { print("door", door, outcome) }
        for (transport, outcome) in try await transports(base) { print("transport", transport, outcome) }

        print(
            "neighbours", neighbours(), String(reflecting: Neighbours.SecTrust.self),
            String(reflecting: SecCertificate.self))

        let maps = try String(contentsOfFile: "/proc/self/maps", encoding: .utf8)
        print("loaded", ["libcurl", "libFoundationNetworking"].filter(maps.contains))
    }
}
