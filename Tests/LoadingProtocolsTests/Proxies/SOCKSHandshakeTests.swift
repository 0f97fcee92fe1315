import LoadingProtocols
import LoadingSemantics
import Testing

/// What is said to SOCKS proxies, honest and not.
@Suite struct SOCKSHandshakeTests {
    /// What was done, and what was left of the input for the next protocol.
    private struct Outcome: Equatable {
        var actions: [SOCKSHandshake.Action] = []
        var rest: [UInt8] = []
    }

    private func destination(_ host: String = "server.example", port: UInt16 = 443) -> ProxyDestination {
        ProxyDestination(traffic: .https, host: host, port: port)
    }

    private func outcome(
        _ reply: [UInt8], cuts: [Int], to destination: ProxyDestination, through proxy: String, ends: Bool = false
    ) throws -> Outcome {
        let server = try #require(ProxyServer(proxy))
        var handshake = try #require(SOCKSHandshake(to: destination, through: server))
        var outcome = Outcome(actions: [handshake.start()])
        var start = 0
        for cut in cuts + [reply.count] {
            let piece = Array(reply[start..<cut])
            start = cut
            piece.withUnsafeBytes { buffer in
                var input = buffer
                while let action = handshake.next(&input) { outcome.actions.append(action) }
                outcome.rest += input
            }
        }
        if ends, let action = handshake.connectionEnded() { outcome.actions.append(action) }
        return outcome
    }

    /// In one piece, byte by byte, and with every cut in two: always the same, or the test fails.
    private func outcome(
        _ reply: [UInt8], to destination: ProxyDestination? = nil, through proxy: String = "socks5://p",
        ends: Bool = false
    ) throws -> Outcome {
        let destination = destination ?? self.destination()
        let whole = try outcome(reply, cuts: [], to: destination, through: proxy, ends: ends)
        #expect(try outcome(reply, cuts: Array(reply.indices), to: destination, through: proxy, ends: ends) == whole)
        for cut in reply.indices {
            #expect(try outcome(reply, cuts: [cut], to: destination, through: proxy, ends: ends) == whole)
        }
        return whole
    }

    private let greeting: SOCKSHandshake.Action = .send([5, 1, 0])
    private let greetingWithPassword: SOCKSHandshake.Action = .send([5, 2, 0, 2])
    private let request: SOCKSHandshake.Action = .send([5, 1, 0, 3, 14] + "server.example".utf8 + [1, 0xBB])
    private let success: [UInt8] = [5, 0, 0, 1, 10, 0, 0, 1, 4, 0x38]

    // MARK: SOCKS5

    // PROXY-5: RFC 1928 §3 to §6
    @Test("a name is the proxy's to resolve") func name() throws {
        let outcome = try outcome([5, 0] + success)
        #expect(outcome == Outcome(actions: [greeting, request, .open]))
    }

    // PROXY-5
    @Test(
        "an address goes as it is",
        arguments: [
            ("10.1.2.3", [1, 10, 1, 2, 3]),
            ("2001:db8::1", [4, 0x20, 1, 0xD, 0xB8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]),
            ("fe80::1%eth0", [4, 0xFE, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]),
        ] as [(String, [UInt8])])
    func address(host: String, expected: [UInt8]) throws {
        let outcome = try outcome([5, 0] + success, to: destination(host, port: 8080))
        #expect(outcome.actions == [greeting, .send([5, 1, 0] + expected + [0x1F, 0x90]), .open])
    }

    // PROXY-5: RFC 1929
    @Test("user and password, if the proxy wants them") func password() throws {
        let asked = try outcome([5, 2, 1, 0] + success, through: "socks5://user:geheim@p")
        let answer: [UInt8] = [1, 4] + "user".utf8 + [6] + "geheim".utf8
        #expect(asked.actions == [greetingWithPassword, .send(answer), request, .open])
        let notAsked = try outcome([5, 0] + success, through: "socks5://user:geheim@p")
        #expect(notAsked.actions == [greetingWithPassword, request, .open])
        let refused = try outcome([5, 2, 1, 1], through: "socks5://user:geheim@p")
        #expect(refused.actions == [greetingWithPassword, .send(answer), .fail(.badCredentials)])
        let oddVersion = try outcome([5, 2, 5, 0] + success, through: "socks5://user:geheim@p")
        #expect(oddVersion.actions == [greetingWithPassword, .send(answer), request, .open])
        let noPassword = try outcome([5, 2, 1, 0] + success, through: "socks5://user@p")
        #expect(noPassword.actions.dropFirst().first == .send([1, 4] + "user".utf8 + [0]))
    }

    // PROXY-5
    @Test(
        "the address in a reply may be of any kind",
        arguments: [
            [5, 0, 0, 1, 0, 0, 0, 0, 0, 0], [5, 0, 0xFF, 4] + [UInt8](repeating: 7, count: 18), [5, 0, 0, 3, 0, 1, 2],
            [5, 0, 0, 3, 3, 1, 2, 3, 0, 80], [5, 0, 0, 3, 255] + [UInt8](repeating: 7, count: 257),
        ] as [[UInt8]])
    func boundAddress(reply: [UInt8]) throws {
        #expect(try outcome([5, 0] + reply) == Outcome(actions: [greeting, request, .open]))
        let more = try outcome([5, 0] + reply + "SSH-2.0".utf8)
        #expect(more == Outcome(actions: [greeting, request, .open], rest: Array("SSH-2.0".utf8)))
    }

    // PROXY-10: RFC 1928 §6
    @Test(
        "each refusal has its own error",
        arguments: [
            (1, .generalFailure), (2, .notAllowed), (3, .networkUnreachable), (4, .hostUnreachable),
            (5, .connectionRefused), (6, .timeToLiveExpired), (7, .commandNotSupported), (8, .addressTypeNotSupported),
            (9, .unknown(9)), (0xF0, .unknown(0xF0)), (255, .unknown(255)),
        ] as [(UInt8, SOCKSFailure.Refusal5)])
    func refusals5(code: UInt8, expected: SOCKSFailure.Refusal5) throws {
        // Short, as many send it, and whole.
        #expect(try outcome([5, 0, 5, code]) == Outcome(actions: [greeting, request, .fail(.refused5(expected))]))
        let whole = try outcome([5, 0, 5, code, 0, 1, 0, 0, 0, 0, 0, 0])
        #expect(whole.actions == [greeting, request, .fail(.refused5(expected))])
    }

    // PROXY-10
    @Test(
        "what is no SOCKS5",
        arguments: [
            ([4], .unsupportedVersion(4)), (Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8), .unsupportedVersion(0x48)),
            ([0, 91], .unsupportedVersion(0)), ([5, 255], .noAcceptableMethod), ([5, 1], .unsupportedMethod(1)),
            ([5, 2], .unsupportedMethod(2)), ([5, 0x80], .unsupportedMethod(0x80)),
        ] as [([UInt8], SOCKSFailure)])
    func noSOCKS5(reply: [UInt8], expected: SOCKSFailure) throws {
        #expect(try outcome(reply).actions == [greeting, .fail(expected)])
    }

    // PROXY-10
    @Test(
        "what is no reply of SOCKS5",
        arguments: [
            ([4, 0, 0], .unsupportedVersion(4)), ([5, 0, 0, 0, 0], .unsupportedAddressType(0)),
            ([5, 0, 0, 2, 0], .unsupportedAddressType(2)), ([5, 0, 0, 255, 255], .unsupportedAddressType(255)),
        ] as [([UInt8], SOCKSFailure)])
    func noReply5(reply: [UInt8], expected: SOCKSFailure) throws {
        #expect(try outcome([5, 0] + reply).actions == [greeting, request, .fail(expected)])
    }

    // MARK: SOCKS4

    private func request4(_ address: [UInt8], user: String = "", name: String? = nil) -> SOCKSHandshake.Action {
        .send([4, 1, 1, 0xBB] + address + user.utf8 + [0] + (name.map { Array($0.utf8) + [0] } ?? []))
    }

    // PROXY-5
    @Test("SOCKS4, and 4a for names") func socks4() throws {
        let success: [UInt8] = [0, 90, 0, 0, 0, 0, 0, 0]
        let name = try outcome(success + [1, 2], through: "socks4://p")
        #expect(name == Outcome(actions: [request4([0, 0, 0, 1], name: "server.example"), .open], rest: [1, 2]))
        let address = try outcome(success, to: destination("10.1.2.3"), through: "socks4a://u:p@p")
        #expect(address.actions == [request4([10, 1, 2, 3], user: "u"), .open])
        let user = try outcome(success, through: "socks4a://u:p@p")
        #expect(user.actions == [request4([0, 0, 0, 1], user: "u", name: "server.example"), .open])
    }

    // PROXY-10
    @Test(
        "refusals of SOCKS4",
        arguments: [
            ([0, 91], .refused4(.rejected)), ([0, 92], .refused4(.identityUnavailable)),
            ([0, 93], .refused4(.identityMismatch)), ([0, 94], .refused4(.unknown(94))),
            ([0, 0], .refused4(.unknown(0))),
            ([5], .unsupportedVersion(5)), ([4, 90], .unsupportedVersion(4)),
            (Array("HTTP".utf8), .unsupportedVersion(0x48)),
        ] as [([UInt8], SOCKSFailure)])
    func refusals4(reply: [UInt8], expected: SOCKSFailure) throws {
        let outcome = try outcome(reply, through: "socks4://p")
        #expect(outcome.actions == [request4([0, 0, 0, 1], name: "server.example"), .fail(expected)])
    }

    // MARK: Limits and ends

    // PROXY-5
    @Test("what the protocol cannot encode is not sent") func withoutEncoding() throws {
        let long = String(repeating: "a", count: 256)
        let fits = String(repeating: "a", count: 255)
        let cases: [(String, ProxyDestination, SOCKSFailure?)] = [
            ("socks5://p", destination(long), .unencodableHost), ("socks5://p", destination(""), .unencodableHost),
            ("socks5://p", destination(fits), nil), ("socks4://p", destination(long), .unencodableHost),
            ("socks4://p", destination(""), .unencodableHost), ("socks4://p", destination("a\u{0}b"), .unencodableHost),
            ("socks4://p", destination(fits), nil), ("socks4://p", destination("::1"), .addressNotSupported),
            // What says that a name follows.
            ("socks4://p", destination("0.0.0.1"), .addressNotSupported),
            ("socks4://p", destination("0.0.0.255"), .addressNotSupported),
            ("socks4://p", destination("0.0.0.0"), nil), ("socks4://p", destination("0.0.1.0"), nil),
            ("socks5://\(long)@p", destination(), .unencodableCredential),
            ("socks5://u:\(long)@p", destination(), .unencodableCredential),
            ("socks5://\(fits):\(fits)@p", destination(), nil),
            ("socks4://\(long)@p", destination(), .unencodableCredential),
            ("socks4://a%00b@p", destination(), .unencodableCredential), ("socks4://\(fits)@p", destination(), nil),
            ("socks5://\(String(repeating: "ü", count: 128))@p", destination(), .unencodableCredential),
        ]
        for (proxy, destination, expected) in cases {
            let server = try #require(ProxyServer(proxy))
            var handshake = try #require(SOCKSHandshake(to: destination, through: server))
            let first = handshake.start()
            if let expected {
                #expect(first == .fail(expected))
                #expect(handshake.connectionEnded() == nil)
            } else if case .send = first {
            } else {
                Issue.record("\(proxy) said \(first)")
            }
        }
    }

    // PROXY-5
    @Test("an HTTP proxy gets no SOCKS") func otherProxy() throws {
        for proxy in ["http://p", "https://p"] {
            #expect(SOCKSHandshake(to: destination(), through: try #require(ProxyServer(proxy))) == nil)
        }
    }

    // PROXY-10
    @Test("a connection that ends before the reply does") func ends() throws {
        let whole = [5, 0] + success
        for length in 0..<whole.count {
            let outcome = try outcome(Array(whole.prefix(length)), ends: true)
            #expect(outcome.actions.last == .fail(.connectionLost))
        }
        #expect(try outcome(whole, ends: true).actions.last == .open)
        #expect(try outcome([0], through: "socks4://p", ends: true).actions.last == .fail(.connectionLost))
    }
}
