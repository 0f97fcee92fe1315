#if HTTP3
    import Foundation
    import TestSupport
    import Testing
    import URLLoading

    /// HTTP/3 when the way to the server changes: the sessions are in one network, the server in another.
    @Suite(.inNetworkNamespace, .needsNetworkNamespace, .needs(.gtlsserver), .timeLimit(.minutes(1)))
    struct HTTP3RouteTests {
        private static let big = [UInt8].pattern(count: 16_000_000)

        private func server(in far: FarNetwork) throws -> GtlsServer {
            let authority = try TrustedAuthority.authority
            return try far.perform {
                try GtlsServer(
                    files: ["small": Array("small".utf8), "big": Self.big], authority: authority,
                    profile: .server(CertificateProfile.Name(FarNetwork.address)), isEverywhere: true)
            }
        }

        private func request(_ port: Int, _ path: String) throws -> URLRequest {
            var request = URLRequest(url: try #require(URL(string: "https://\(FarNetwork.address):\(port)\(path)")))
            request.assumesHTTP3Capable = true
            return request
        }

        enum Change: CaseIterable {
            /// The new address is there before the old one goes.
            case overlapping
            /// For a moment there is none.
            case interrupted
            /// The interface goes down, and up with its address as it was.
            case interfaceDown

            func happen() throws {
                let add = ["address", "add", "10.0.0.3/32", "dev", "near"]
                switch self {
                case .overlapping:
                    try NetworkNamespace.ip(add)
                    try NetworkNamespace.ip("route", "add", "10.0.0.2", "dev", "near", "src", "10.0.0.3")
                    try NetworkNamespace.ip("address", "del", "10.0.0.1/24", "dev", "near")
                case .interrupted:
                    try NetworkNamespace.ip("address", "del", "10.0.0.1/24", "dev", "near")
                    try NetworkNamespace.ip("address", "add", "10.0.0.3/24", "dev", "near")
                case .interfaceDown:
                    try NetworkNamespace.ip("link", "set", "near", "down")
                    try NetworkNamespace.ip("link", "set", "near", "up")
                }
            }
        }

        // S-7, RFC 9000 §9: the load goes on where it was
        @Test("an address changes in the middle of a load", arguments: Change.allCases)
        func migration(change: Change) async throws {
            let far = try FarNetwork()
            let server = try server(in: far)
            defer { server.stop() }
            try await TransactionRecorder.record { session, metrics async throws in
                let (bytes, _) = try await session.bytes(for: request(server.port, "/big"))
                var iterator = bytes.makeAsyncIterator()
                var body: [UInt8] = []
                while body.count < 1_000_000, let byte = try await iterator.next() { body.append(byte) }
                try change.happen()
                while let byte = try await iterator.next() { body.append(byte) }
                #expect(body == Self.big)
                // On the same connection, the first of which tells where it has begun.
                #expect(
                    String(decoding: try await session.data(for: request(server.port, "/small")).0, as: UTF8.self)
                        == "small")
                let transactions = try await metrics.transactions.waitFor(count: 2)
                #expect(transactions.map(\.networkProtocolName) == ["h3", "h3"])
                #expect(transactions.map(\.isReusedConnection) == [false, true])
                #expect(transactions.first?.localAddress == "10.0.0.1")
                #expect(transactions.last?.localAddress == (change == .interfaceDown ? "10.0.0.1" : "10.0.0.3"))
            }
        }

        // CONN-6, CONN-8: and the next load does not try again
        @Test("datagrams are lost on their way, and TCP is taken") func datagramsLost() async throws {
            let far = try FarNetwork()
            try far.swallowDatagrams()
            let tls = try TrustedAuthority.server(.server(CertificateProfile.Name(FarNetwork.address)))
            let server = try far.perform { try ScriptedServer.answering(.everywhere, tls: tls) { .text($0.target) } }
            defer { server.stop() }
            try await TransactionRecorder.record { session, metrics async throws in
                for path in ["/1", "/2"] {
                    #expect(
                        String(decoding: try await session.data(for: request(server.port, path)).0, as: UTF8.self)
                            == path)
                }
                let transactions = try await metrics.transactions.waitFor(count: 2)
                #expect(transactions.map(\.networkProtocolName) == ["http/1.1", "http/1.1"])
                let duration = try #require(transactions.first?.connectEndDate).timeIntervalSince(
                    try #require(transactions.first?.connectStartDate))
                #expect(duration < 2)
            }
            #expect(server.connectionCount == 1)
        }
    }

#endif
