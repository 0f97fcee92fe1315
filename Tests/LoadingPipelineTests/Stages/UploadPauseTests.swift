import Foundation
import LoadingConnections
import LoadingEvents
import LoadingSemantics
import LoadingTestSupport
import LoadingTransport
import TestSupport
import Testing

@testable import LoadingPipeline

/// An upload that pauses before it asks again how much the server has.
@Suite struct UploadPauseTests {
    private static let resource = [("Upload-Draft-Interop-Version", "8"), ("Location", "/uploads/1")]
    private static let second: Int64 = 1_000_000_000

    /// An upload that has lost two connections in a row, and pauses.
    private func pausing() async throws -> ExchangeBench {
        let bench = try ExchangeBench(ExchangeBench.request("POST", body: .bytes(Data("hello".utf8))))
        try await bench.run { bench in
            bench.load.makeResumable(nil)
            bench.load.start(.first)
            bench.give("a")
            bench.head(104, Self.resource)
            bench.loses(.sent)
            // The first time it asks at once.
            bench.give("b")
            bench.loses(.sent)
        }
        #expect(try await bench.get { $0.load.machine.stage } == .uploadPause)
        return bench
    }

    // RES-17
    @Test("an upload goes on after its pause, and with what is missing") func goesOn() async throws {
        let bench = try await pausing()
        try await bench.stepped.step(by: Self.second - 1)
        #expect(try await bench.get { $0.load.exchange == nil && $0.load.machine.stage == .uploadPause })
        try await bench.stepped.step(by: 1)
        try await bench.run { bench in
            bench.give("c")
            bench.head(204, [("Upload-Offset", "2"), ("Upload-Complete", "?0")], body: .none)
            bench.give("d")
        }
        #expect(try await bench.get { $0.carried } == ["a starts", "b starts", "c starts", "c drained", "d starts"])
        let request = try await bench.get { bench -> [String] in
            guard let request = bench.carrier.request, case .bytes(let data) = request.body else { return [] }
            return [
                request.method, request.fields.firstValue("Upload-Offset") ?? "", String(decoding: data, as: UTF8.self),
            ]
        }
        #expect(request == ["PATCH", "2", "llo"])
        // The client gets the last response alone.
        try await bench.run { bench in
            bench.head(201, [("Upload-Complete", "?1"), ("Content-Type", "text/plain")])
            bench.ends()
        }
        #expect(try await bench.get { $0.client.events } == ["104", "response 201", "done"])
        try await bench.close()
    }

    // T-2, RES-17
    @Test("a pause that ends while the load is suspended leads on when it resumes") func suspended() async throws {
        let bench = try await pausing()
        try await bench.run { $0.load.suspend() }
        try await bench.stepped.step(by: 2 * Self.second)
        #expect(try await bench.get { $0.load.exchange == nil && $0.load.machine.stage == .transportSecurity })
        try await bench.run { bench in
            bench.load.resume()
            bench.give("c")
        }
        #expect(try await bench.get { $0.carried } == ["a starts", "b starts", "c starts"])
        try await bench.close()
    }

    // T-9
    @Test("a pause does not outlast its load") func cancelled() async throws {
        let bench = try await pausing()
        try await bench.run { $0.load.cancel(.cancelled) }
        try await bench.stepped.step(by: 2 * Self.second)
        #expect(try await bench.get { $0.client.events } == ["104", "failed -999"])
        #expect(try await bench.get { $0.carried } == ["a starts", "b starts"])
        try await bench.close()
    }
}
