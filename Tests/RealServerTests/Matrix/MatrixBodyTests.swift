import Foundation
import TestSupport
import Testing
import URLLoading

extension ProtocolMatrixTests {
    /// Bodies, in both directions.
    @Suite struct Bodies {
        // CONN-22
        @Test("a big response, in memory and in a file", arguments: Peer.supporting(.big))
        func big(peer: Peer) async throws {
            let connections = try await peer.serve { run async throws in
                #expect(try await run.data("/big").0 == Data(Peer.big))
                let (file, _) = try await run.session.download(for: run.request("/big"))
                defer { try? FileManager.default.removeItem(at: file) }
                #expect(try Data(contentsOf: file) == Data(Peer.big))
            }
            #expect(connections == 1)
        }

        // MISC-5
        @Test("uploads of data and a file", arguments: Peer.supporting(.upload)) func upload(peer: Peer) async throws {
            let connections = try await peer.serve { run async throws in
                let request = run.request("/count", "POST")
                let (first, _) = try await run.session.upload(for: request, from: Data(Peer.big))
                #expect(String(decoding: first, as: UTF8.self) == peer.count(of: Peer.big))
                let directory = try TemporaryDirectory()
                let file = try directory.write(Peer.big, to: "body")
                let (second, _) = try await run.session.upload(for: request, fromFile: file)
                #expect(String(decoding: second, as: UTF8.self) == peer.count(of: Peer.big))
            }
            #expect(connections == 1)
        }

        // MISC-5
        @Test("a body that is a stream, and a response as bytes", arguments: Peer.supporting(.stream))
        func stream(peer: Peer) async throws {
            let connections = try await peer.serve { run async throws in
                var request = run.request("/count", "POST")
                request.httpBodyStream = InputStream(data: Data(Peer.big))
                let (answer, _) = try await run.session.data(for: request)
                #expect(String(decoding: answer, as: UTF8.self) == peer.count(of: Peer.big))
                var bytes: [UInt8] = []
                for try await byte in try await run.session.bytes(for: run.request("/small")).0 { bytes.append(byte) }
                #expect(bytes == Array("small".utf8))
            }
            #expect(connections == 1)
        }

        // CONN-22: a slow reader blocks only its own response
        @Test("a slow reader beside a quick one", arguments: Peer.supporting(.slowReader))
        func slowReader(peer: Peer) async throws {
            let connections = try await peer.serve { run async throws in
                let (slow, _) = try await run.session.bytes(for: run.request("/big"))
                var iterator = slow.makeAsyncIterator()
                var count = try await iterator.next() == nil ? 0 : 1
                for _ in 0..<4 { #expect(try await run.data("/big").0.count == Peer.big.count) }
                while try await iterator.next() != nil { count += 1 }
                #expect(count == Peer.big.count)
            }
            #expect(connections == (peer.isShared ? 1 : 2))
        }
    }
}
