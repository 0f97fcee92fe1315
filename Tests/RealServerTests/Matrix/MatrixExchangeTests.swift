import Foundation
import TestSupport
import Testing
import URLLoading

extension ProtocolMatrixTests {
    /// Heads of requests and responses.
    @Suite struct Exchanges {
        /// Keeps the metrics of a task.
        private final class MetricsDelegate: NSObject, URLSessionTaskDelegate, Sendable {
            let metrics = Watched<[URLSessionTaskTransactionMetrics]>([])

            func urlSession(
                _ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics
            ) {
                self.metrics.withValue { $0 += metrics.transactionMetrics }
            }
        }

        // CONN-2, S-6, S-7, S-8, MET-7, MET-8, MET-10
        @Test("one small response after the other", arguments: Peer.supporting(.small))
        func small(peer: Peer) async throws {
            let connections = try await peer.serve { run async throws in
                for isReused in [false, true, true] {
                    let delegate = MetricsDelegate()
                    let (data, response) = try await run.session.data(for: run.request("/small"), delegate: delegate)
                    #expect(String(decoding: data, as: UTF8.self) == "small")
                    #expect((response as? HTTPURLResponse)?.statusCode == 200)
                    #expect(response.expectedContentLength == 5)
                    let metrics = try #require(delegate.metrics.current.first)
                    #expect(metrics.networkProtocolName == peer.version.rawValue)
                    #expect(metrics.isReusedConnection == isReused)
                    #expect(metrics.negotiatedTLSProtocolVersion == .TLSv13)
                    #expect(metrics.countOfRequestHeaderBytesSent > 0)
                    #expect(metrics.countOfResponseHeaderBytesReceived > 0)
                    #expect(metrics.countOfResponseBodyBytesReceived >= 5)
                }
                let (nothing, head) = try await run.data("/small", "HEAD")
                #expect(nothing.isEmpty && head.expectedContentLength == 5)
                #expect(try await run.outcome("/absent") == "404")
            }
            #expect(connections == 1)
        }

        // S-6
        @Test("a response without content", arguments: Peer.supporting(.empty)) func empty(peer: Peer) async throws {
            let connections = try await peer.serve { run async throws in
                let (none, response) = try await run.data("/empty")
                #expect(none.isEmpty && response.statusCode == 200)
            }
            #expect(connections == 1)
        }

        // R-1
        @Test("a redirect", arguments: Peer.supporting(.redirect)) func redirect(peer: Peer) async throws {
            let connections = try await peer.serve { run async throws in
                let (data, response) = try await run.data("/redirect")
                #expect(String(decoding: data, as: UTF8.self) == "small")
                #expect(response.url?.path == "/small")
            }
            #expect(connections == 1)
        }

        @Test("statuses, with a body and without", arguments: Peer.supporting(.statuses))
        func statuses(peer: Peer) async throws {
            let connections = try await peer.serve { run async throws in
                for code in [204, 304, 404, 503] { #expect(try await run.outcome("/status/\(code)") == "\(code)") }
            }
            #expect(connections == 1)
        }

        // AUTH-1
        @Test("a challenge", arguments: Peer.supporting(.challenge)) func challenge(peer: Peer) async throws {
            let connections = try await peer.serve { run async throws in
                #expect(try await run.outcome("/guarded") == "401")
                let url = run.server.secureURL("/guarded").absoluteString.replacing("//", with: "//me:secret@")
                let (data, response) = try await run.session.data(for: run.request(try #require(URL(string: url))))
                #expect((response as? HTTPURLResponse)?.statusCode == 200)
                #expect(String(decoding: data, as: UTF8.self) == "small")
            }
            #expect(connections == 1)
        }

        // CONN-23
        @Test("trailers", arguments: Peer.supporting(.trailers)) func trailers(peer: Peer) async throws {
            let connections = try await peer.serve { run async throws in
                for _ in 0..<2 {
                    let (data, response) = try await run.data("/trailers")
                    #expect(String(decoding: data, as: UTF8.self) == "small")
                    #expect(response.value(forHTTPHeaderField: "X-Checksum") == nil)
                }
            }
            #expect(connections == 1)
        }
    }
}
