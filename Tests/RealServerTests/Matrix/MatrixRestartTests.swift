import Foundation
import TestSupport
import Testing
import URLLoading

extension ProtocolMatrixTests {
    /// Servers that restart, gracefully or after a crash, on the same port.
    @Suite struct Restarts {
        // CONN-10
        @Test("a server that was restarted while nothing was loaded", arguments: Peer.supporting(.restart))
        func idle(peer: Peer) async throws { try await restart(peer, .orderly, then: ["GET", "POST", "GET"]) }

        // CONN-10
        @Test("a server that crashed while nothing was loaded", arguments: Peer.supporting(.crash))
        func idleCrash(peer: Peer) async throws {
            // Over QUIC a crash is not signalled, so requests that must not be repeated are lost.
            try await restart(peer, .abrupt, then: peer.version == .http3 ? ["GET"] : ["GET", "POST", "GET"])
        }

        private func restart(_ peer: Peer, _ ending: ServerEnding, then methods: [String]) async throws {
            let connections = try await peer.serve { run async throws in
                #expect(try await run.outcome("/small") == "200")
                for method in methods {
                    try run.server.restart(ending)
                    let outcome = try await run.outcome(method == "POST" ? "/count" : "/small", method)
                    #expect(outcome == "200")
                }
            }
            #expect(connections == methods.count + 1)
        }

        // CONN-10, CONN-11
        @Test("a server that is restarted in the middle of a response", arguments: Peer.supporting(.restartInLoad))
        func inLoad(peer: Peer) async throws { try await restartInLoad(peer, .orderly) }

        // CONN-10, CONN-11
        @Test("a server that crashes in the middle of a response", arguments: Peer.supporting(.crashInLoad))
        func crashInLoad(peer: Peer) async throws { try await restartInLoad(peer, .abrupt) }

        private func restartInLoad(_ peer: Peer, _ ending: ServerEnding) async throws {
            let connections = try await peer.serve { run async throws in
                #expect(try await run.outcome("/small") == "200")
                let (bytes, _) = try await run.session.bytes(for: run.request("/held"))
                var iterator = bytes.makeAsyncIterator()
                _ = try await iterator.next()
                try run.server.restart(ending)
                let outcome = try await run.outcome("/small")
                #expect(outcome == "200")
                let error = await #expect(throws: URLError.self) { while try await iterator.next() != nil {} }
                let code = try #require(error).code.rawValue
                #expect(code == -1005)
            }
            #expect(connections == 2)
        }
    }
}
