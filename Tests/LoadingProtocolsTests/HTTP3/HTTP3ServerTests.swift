#if HTTP3
    import LoadingProtocols
    import TestSupport
    import Testing

    /// The session against a server that others wrote, over sockets.
    @Suite("HTTP/3 with a server", .needs(.gtlsserver), .serialized)
    struct HTTP3ServerTests {
        private let authority: TestCertificateAuthority

        init() throws {
            authority = try TestCertificateAuthority()
        }

        private func server(_ files: [String: [UInt8]] = [:], _ options: [String] = []) throws -> GtlsServer {
            try GtlsServer(files: files, authority: authority, options: options)
        }

        @Test("a small file, and one that is not there")
        func small() throws {
            let server = try server(["hello.txt": Array("hello".utf8)])
            defer { server.stop() }
            let connection = try HTTP3Connection(to: server.port)
            try connection.runUntilComplete()
            #expect(connection.chains.count == 1)
            #expect(connection.chains.first?.isEmpty == false)
            let load = try connection.load("/hello.txt")
            #expect(load.head?.status == 200)
            #expect(load.body == Array("hello".utf8))
            #expect(load.failure == nil && load.hasEnded && load.isSent && load.sentHead > 0)
            let missing = try connection.load("/missing")
            #expect(missing.head?.status == 404)
            connection.close()
        }
    }
#endif
