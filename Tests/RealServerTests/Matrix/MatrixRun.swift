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
        // Who speaks HTTP/3 alone cannot tell that over anything else.
        request.assumesHTTP3Capable = peer.version == .http3
        return request
    }

    func data(_ path: String, _ method: String = "GET") async throws -> (Data, HTTPURLResponse) {
        let (data, response) = try await session.data(for: request(path, method))
        return (data, try #require(response as? HTTPURLResponse))
    }

    /// What a request comes to: its status, or the code of its error.
    func outcome(_ path: String, _ method: String = "GET") async throws -> String {
        do {
            return "\(try await data(path, method).1.statusCode)"
        } catch let error as URLError {
            return "\(error.code.rawValue)"
        }
    }
}

extension Peer {
    /// Has the peer serve, and says how many connections it took, as seen on the wire. All that was loaded has to have come
    /// over the peer's version of HTTP.
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
        // TCP may run beside QUIC, and be told that nobody is there; QUIC is for whoever says that he speaks it.
        #expect(counts.isQUICWanted == (version == .http3))
        return version == .http3 ? counts.quic : counts.tcp
    }

    /// Notes over what was loaded.
    private final class ProtocolDelegate: NSObject, URLSessionTaskDelegate, Sendable {
        let names = Watched<Set<String>>([])

        func urlSession(
            _ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics
        ) {
            names.withValue { $0.formUnion(metrics.transactionMetrics.compactMap(\.networkProtocolName)) }
        }
    }
}
