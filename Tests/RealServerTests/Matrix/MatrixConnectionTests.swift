import Foundation
import TestSupport
import Testing
import URLLoading

extension ProtocolMatrixTests {
    /// Connection sharing, and the effect of one request's end on others.
    @Suite struct Connections {
        // CONN-1, CONN-3, S-9
        @Test("a hundred at once", arguments: Peer.supporting(.hundredAtOnce)) func hundred(peer: Peer) async throws {
            let connections = try await peer.serve { run async throws in
                try await withThrowingTaskGroup(of: Int.self) { group async throws in
                    for _ in 0..<100 { group.addTask { try await run.data("/small").0.count } }
                    let total = try await group.reduce(0, +)
                    #expect(total == 500)
                }
            }
            #expect(connections == (peer.isShared ? 1 : 6))
        }

        // S-42: cancelling one request does not affect others on the connection
        @Test("cancelled in the middle of a body", arguments: Peer.supporting(.cancel))
        func cancelled(peer: Peer) async throws {
            let connections = try await peer.serve { run async throws in
                for _ in 0..<3 {
                    let (bytes, _) = try await run.session.bytes(for: run.request("/big"))
                    var iterator = bytes.makeAsyncIterator()
                    _ = try await iterator.next()
                    async let other = run.data("/small")
                    bytes.task.cancel()
                    await #expect(throws: URLError.self) { while try await iterator.next() != nil {} }
                    #expect(try await other.0.count == 5)
                }
            }
            #expect(connections == (peer.isShared ? 1 : 4))
        }

        // CONN-10
        @Test("a server that drops the request", arguments: Peer.supporting(.reset)) func reset(peer: Peer) async throws
        {
            let connections = try await peer.serve { run async throws in
                let outcome = try await run.outcome("/dropped")
                #expect(peer.dropped.contains(outcome), "\(outcome)")
                let after = try await run.outcome("/small")
                #expect(after == "200")
            }
            // Over HTTP/1.1 the connection goes with the request, but where it is an answer that others could not be
            // had.
            #expect(connections == (peer.isShared || peer.make == .apache ? 1 : 2))
        }

        // CONN-10: what has begun to come is not asked for again
        @Test("a server that breaks off", arguments: Peer.supporting(.breakingOff))
        func breakingOff(peer: Peer) async throws {
            let connections = try await peer.serve { run async throws in
                #expect(try await run.outcome("/small") == "200")
                let outcome = try await run.outcome("/broken")
                #expect(outcome == "-1005")
                let after = try await run.outcome("/small")
                #expect(after == "200")
            }
            // nghttpx may have seen the end before it has passed anything on; then it is a request that was not
            // answered on a connection that was used before, and goes out once more.
            let others = peer.make == .nghttpx ? 2...3 : 2...2
            #expect(peer.isShared ? connections == 1 : others.contains(connections))
        }

        // CONN-1, CONN-3: after a while without use it is looked whether the connection is still there
        @Test("used again after a pause", arguments: Peer.supporting(.idleReuse)) func idleReuse(peer: Peer)
            async throws
        {
            let connections = try await peer.serve { run async throws in
                #expect(try await run.outcome("/small") == "200")
                // The pause is what this is about: nothing happens in it that could be waited for.
                try await Task.sleep(for: .milliseconds(1_100))
                #expect(try await run.outcome("/small") == "200")
                let posted = try await run.outcome("/count", "POST")
                #expect(posted == "200")
            }
            #expect(connections == 1)
        }
    }
}
