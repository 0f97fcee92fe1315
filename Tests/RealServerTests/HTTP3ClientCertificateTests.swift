import Foundation
import TestSupport
import Testing
import URLLoading

/// Client certificates over QUIC, to Caddy.
@Suite("HTTP/3, client certificates", .needsHTTP3, .needs(.caddy))
struct HTTP3ClientCertificateTests {
    /// Shows that certificate, if any.
    private final class Client: NSObject, URLSessionTaskDelegate, Sendable {
        let credential: URLCredential?
        let asked = EventRecorder<String>()
        let names = EventRecorder<[Data]>()
        let protocols = EventRecorder<String?>()
        /// The provided body stream.
        static let body = Data([UInt8].pattern(count: 5_000))

        /// Called for a client certificate challenge.
        private let onQuestion: @Sendable () -> Void

        init(_ credential: URLCredential?, onQuestion: @escaping @Sendable () -> Void = {}) {
            self.credential = credential
            self.onQuestion = onQuestion
        }

        func urlSession(
            _ session: URLSession, didReceive challenge: URLAuthenticationChallenge
        ) async -> (URLSession.AuthChallengeDisposition, URLCredential?) {
            let method = challenge.protectionSpace.authenticationMethod
            asked.record(method)
            guard method == NSURLAuthenticationMethodClientCertificate else {
                return (.performDefaultHandling, nil)
            }
            names.record(challenge.protectionSpace.distinguishedNames ?? [])
            onQuestion()
            return (credential == nil ? .performDefaultHandling : .useCredential, credential)
        }

        func urlSession(_ session: URLSession, needNewBodyStreamForTask task: URLSessionTask) async -> InputStream? {
            asked.record("stream")
            return InputStream(data: Self.body)
        }

        func urlSession(
            _ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics
        ) {
            for transaction in metrics.transactionMetrics { protocols.record(transaction.networkProtocolName) }
        }
    }

    private func credential(_ identity: TestIdentity) throws -> URLCredential {
        var items: CFArray?
        let archive = Data(try identity.pkcs12(password: "secret")) as CFData
        _ = SecPKCS12Import(archive, [kSecImportExportPassphrase as String: "secret"] as CFDictionary, &items)
        let item = try #require((items as? [[String: Any]])?.first)
        let known = try #require(item[kSecImportItemIdentity as String] as? SecIdentity)
        return URLCredential(identity: known, certificates: nil, persistence: .none)
    }

    private let clients: TestCertificateAuthority
    private let server: CertificateAskingServer

    init() throws {
        clients = try TestCertificateAuthority(.authority("Clients"))
        server = try CertificateAskingServer(TrustedAuthority.authority, clients: clients)
    }

    /// The status of each answer.
    private func load(by client: Client, times: Int = 1) async throws -> [Int] {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.timeoutIntervalForRequest = 20
        let session = URLSession(configuration: configuration, delegate: client, delegateQueue: nil)
        defer { session.invalidateAndCancel() }
        var request = URLRequest(url: try #require(URL(string: "https://localhost:\(server.port)/who")))
        request.assumesHTTP3Capable = true
        var answers: [Int] = []
        for _ in 0..<times {
            // Caddy reports which certificate it has accepted over TCP only.
            let response = try await session.data(for: request).1
            answers.append((response as? HTTPURLResponse)?.statusCode ?? 0)
        }
        return answers
    }

    private let questions = [NSURLAuthenticationMethodServerTrust, NSURLAuthenticationMethodClientCertificate]

    // AUTH-31, S-54, AUTH-12: each is asked once for a connection
    @Test(
        "a server knows its client by a certificate",
        arguments: [TestPrivateKey.Kind.ellipticP256, .rsa(bits: 2048), .edwards])
    func known(key: TestPrivateKey.Kind) async throws {
        defer { server.stop() }
        let client = Client(try credential(try clients.issue(.client("somebody").with { $0.key = key })))
        #expect(try await load(by: client, times: 2) == [200, 200])
        #expect(client.asked.events == questions)
        #expect(client.names.events.first?.count == 1)
        #expect(try await client.protocols.waitFor(count: 2) == ["h3", "h3"])
    }

    // S-49, S-50, AUTH-31: a streamed upload asks for its stream when there is a connection
    @Test("both are asked before a stream is") func streamedUpload() async throws {
        defer { server.stop() }
        let client = Client(try credential(try clients.issue(.client("somebody"))))
        let configuration = URLSessionConfiguration.ephemeral
        configuration.timeoutIntervalForRequest = 20
        let session = URLSession(configuration: configuration, delegate: client, delegateQueue: nil)
        var request = URLRequest(url: try #require(URL(string: "https://localhost:\(server.port)/who")))
        request.httpMethod = "PUT"
        request.assumesHTTP3Capable = true
        let task = session.uploadTask(withStreamedRequest: request)
        task.resume()
        session.finishTasksAndInvalidate()
        #expect(try await client.protocols.waitFor(count: 1) == ["h3"])
        #expect(client.asked.events == questions + ["stream"])
        // The server may answer before it has read the body.
        #expect((task.response as? HTTPURLResponse)?.statusCode == 200)
    }

    // AUTH-31, TLS-5
    @Test("the connection fails without a certificate, or with an untrusted one", arguments: [false, true])
    func unknown(isUnknown: Bool) async throws {
        defer { server.stop() }
        let unknownCredential = isUnknown ? try credential(TestIdentity.selfSigned(.client("unknown"))) : nil
        let client = Client(unknownCredential)
        let code: URLError.Code = isUnknown ? .clientCertificateRejected : .clientCertificateRequired
        let error = await #expect(throws: URLError.self) { try await load(by: client) }
        #expect(error?.code == code)
        #expect(client.asked.events == questions)
    }

    // AUTH-31, CONN-8: the second handshake is no reason to wait either
    @Test("a slow second handshake does not delay loads on another connection") func slow() async throws {
        defer { server.stop() }
        let relay = try DatagramRelay(to: server.port)
        defer { relay.stop() }
        relay.release()
        let tcp = try ScriptedServer.naming(relay.port, over: "http/1.1")
        defer { tcp.stop() }
        let client = Client(try credential(try clients.issue(.client("somebody")))) { relay.hold() }
        let configuration = URLSessionConfiguration.ephemeral
        configuration.urlCache = nil
        let session = URLSession(configuration: configuration, delegate: client, delegateQueue: nil)
        defer { session.invalidateAndCancel() }
        let url = tcp.url("/who", host: "localhost")
        let start = ContinuousClock.now
        for _ in 0..<3 { #expect(String(decoding: try await session.data(from: url).0, as: UTF8.self) == "0") }
        #expect(ContinuousClock.now - start < .seconds(5))
        relay.release()
        try await eventually {
            _ = try? await session.data(from: url)
            return client.protocols.events.last == "h3"
        }
        // The first server, the second, and the client certificate.
        #expect(client.asked.events == [questions[0]] + questions)
        #expect(relay.clientCount == 2 && tcp.connectionCount == 1)
    }
}
