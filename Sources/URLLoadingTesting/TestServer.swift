internal import CLoadingTestTLS
public import Foundation
internal import Glibc
internal import LoadingEvents
internal import LoadingSemantics
public import URLLoading

/// An HTTP server for tests, which answers with a queue of responses or by a handler, and records the requests.
///
///     let server = try TestServer()
///     server.enqueue(TestResponse(text: "hello"))
///     let session = URLSession(configuration: server.configuration())
///     let (data, _) = try await session.data(from: URL(string: "https://api.example.com/greeting")!)
///     let request = try await server.nextRequest()
///
/// A session with ``configuration()`` sends the requests of all hosts to it, over HTTP and HTTPS: nothing is stubbed in
/// the program, and everything between the program and the socket is what it is elsewhere. The certificate for each
/// host is made when it is needed, by an authority that only these sessions trust. The server uses HTTP/1.1 and, over
/// TLS, HTTP/2; WebSockets come over HTTP/1.1.
///
/// All members are thread-safe. The server ends with ``stop()``, or with its last reference.
public final class TestServer: Sendable {
    /// What is wrong with the server's certificates.
    public enum CertificateFault: Sendable {
        /// The certificate has expired.
        case expired
        /// The certificate is for another host.
        case wrongHost
        /// Another authority has signed the certificate.
        case untrusted
    }

    private let core: TestServerCore

    /// Listens on a free port of 127.0.0.1.
    ///
    /// - Parameter addresses: IP addresses for which the certificates are, besides 127.0.0.1 and ::1. Names need not be
    ///   given: a client sends the name that it wants (SNI), but no address.
    ///
    /// Throws a `POSIXError` if no port, descriptor or thread is available, and
    /// ``TestServerError/tlsUnavailable(_:)`` without OpenSSL.
    public init(addresses: [String] = []) throws {
        core = try TestServerCore(addresses)
        try core.listen()
    }

    deinit { core.stop() }

    /// Closes the port and all connections. All threads of the server have then ended, except one that does not return
    /// from the program's handler or conversation.
    public func stop() { core.stop() }

    // MARK: Addresses

    /// The port on 127.0.0.1.
    public var port: Int { core.port }

    /// The URL of the server itself, for programs that take an address: `http://127.0.0.1:PORT`, or with `https`.
    public func url(_ path: String = "/", isSecure: Bool = false) -> URL {
        var components = URLComponents()
        components.scheme = isSecure ? "https" : "http"
        components.host = "127.0.0.1"
        components.port = port
        let base = components.url ?? URL(fileURLWithPath: "/")
        return URL(string: path, relativeTo: base)?.absoluteURL ?? base
    }

    /// An ephemeral configuration for sessions whose requests all go to this server.
    public func configuration() -> URLSessionConfiguration {
        let configuration = URLSessionConfiguration.ephemeral
        serve(configuration)
        return configuration
    }

    /// Sends all requests of sessions with this configuration to this server, and makes these sessions trust its
    /// certificates.
    public func serve(_ configuration: URLSessionConfiguration) {
        configuration.destinations.connect(
            host: nil, port: nil, toHost: "127.0.0.1", port: UInt16(truncatingIfNeeded: port))
        configuration.proxyVariables = [:]
        configuration.connectionProxyDictionary = [:]
        configuration.additionalAuthorities = [core.authority.certificate]
    }

    /// The certificate of the authority, in DER: for clients other than sessions.
    public var authority: Data { Data(core.authority.certificate) }

    // MARK: Responses

    /// Adds the response to the next request that has none. Without a ``handler``, a request waits until there is one;
    /// if its client gives up before, the response is left for the next request.
    public func enqueue(_ response: TestResponse) { core.enqueue(response) }

    /// Makes the response to a request, in a separate task, which is cancelled when the server stops. An error becomes
    /// a response with status 500 and a description.
    public typealias Handler = @Sendable (TestRequest) async throws -> TestResponse

    /// Answers the requests for which the queue has no response. If it refers to the server, the server exists until
    /// ``stop()``, after which there is none.
    public var handler: Handler? {
        get { core.handler }
        set { core.handler = newValue }
    }

    /// Whether connections over TLS use HTTP/2 from now on, for clients that can. True, unless nghttp2 is not
    /// installed.
    public var offersHTTP2: Bool {
        get { core.offersHTTP2 }
        set { core.offersHTTP2 = newValue }
    }

    /// What is wrong with the certificates of connections from now on; nil for nothing.
    public var certificateFault: CertificateFault? {
        get { core.certificateFault }
        set { core.certificateFault = newValue }
    }

    // MARK: Requests

    /// All requests so far, in the order of their arrival.
    public var requests: [TestRequest] { core.requests }

    /// The number of connections so far, also of those on which no request has come.
    public var connectionCount: Int { core.connectionCount }

    /// The first request that this method has not returned before; waits for it.
    ///
    /// Throws ``TestServerError/noRequest`` after that time, and `CancellationError`.
    public func nextRequest(within limit: Duration = .seconds(10)) async throws -> TestRequest {
        try await core.nextRequest(within: limit)
    }
}

/// The errors of this module, besides errors of the system.
public enum TestServerError: Error, Equatable {
    /// No request has come in time.
    case noRequest
    /// OpenSSL is missing, or has failed.
    case tlsUnavailable(String)
    /// A WebSocket's connection has ended, or its client violates the protocol.
    case webSocketEnded
}
