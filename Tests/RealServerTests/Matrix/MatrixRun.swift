import Foundation
import TestSupport
import Testing
import URLLoading

/// A session that loads from a peer.
struct MatrixRun: Sendable {
    let peer: Peer
    let server: any FarmServer
    let session: URLSession

    func request(_ path: String, _ method: String = "GET") -> URLRequest {
        request(server.secureURL(path), method)
    }

    func request(_ url: URL, _ method: String = "GET") -> URLRequest {
        var request = URLRequest(url: url)
        request.httpMethod = method
        // A server with HTTP/3 only cannot advertise it over another version.
        request.assumesHTTP3Capable = peer.version == .http3
        return request
    }

    func data(_ path: String, _ method: String = "GET") async throws -> (Data, HTTPURLResponse) {
        let (data, response) = try await session.data(for: request(path, method))
        return (data, try #require(response as? HTTPURLResponse))
    }

    /// The result of a request: its status or error code.
    func outcome(_ path: String, _ method: String = "GET") async throws -> String {
        do {
            return "\(try await data(path, method).1.statusCode)"
        } catch let error as URLError {
            return "\(error.code.rawValue)"
        }
    }
}

extension Peer {
    /// Runs `body` with the started peer, and returns the number of captured connections. Checks that all loads used
    /// the peer's HTTP version.
    func serve(_ body: (MatrixRun) async throws -> Void) async throws -> Int {
        let origin = try MatrixOrigin.start(files: Self.files)
        defer { origin.stop() }
        let server = try start(before: origin)
        defer { server.stop() }
        let capture = try ConnectionCapture(port: try #require(server.secureURL("/").port))
        let configuration = URLSessionConfiguration.ephemeral
        configuration.urlCache = nil
        configuration.timeoutIntervalForRequest = 20
        let protocols = ProtocolDelegate()
        let session = URLSession(configuration: configuration, delegate: protocols, delegateQueue: nil)
        defer { session.invalidateAndCancel() }
        try await body(MatrixRun(peer: self, server: server, session: session))
        #expect(protocols.names.current == [version.rawValue])
        let counts = try capture.counts()
        // TCP may be tried in parallel with QUIC, and refused. QUIC is tried only if the server is known to support it.
        #expect(counts.isQUICWanted == (version == .http3))
        return version == .http3 ? counts.quic : counts.tcp
    }

    /// Records the protocols of loads.
    private final class ProtocolDelegate: NSObject, URLSessionTaskDelegate, Sendable {
        let names = Watched<Set<String>>([])

        func urlSession(
            _ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics
        ) {
            names.withValue { $0.formUnion(metrics.transactionMetrics.compactMap(\.networkProtocolName)) }
        }
    }
}
