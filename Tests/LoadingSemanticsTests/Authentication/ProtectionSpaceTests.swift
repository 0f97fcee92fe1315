import LoadingSemantics
import Testing

// AUTH-12, AUTH-14
@Suite struct ProtectionSpaceTests {
    private func space(
        _ kind: ProtectionSpace.Kind, port: UInt16 = 0, _ scheme: AuthenticationScheme = .basic
    ) -> ProtectionSpace {
        ProtectionSpace(kind: kind, host: "Example.COM", port: port, realm: "r", scheme: scheme)
    }

    @Test func portsAndHosts() {
        #expect(space(.server(.http)).port == 80)
        #expect(space(.server(.https)).port == 443)
        #expect(space(.server(.ftp)).port == 21)
        #expect(space(.server(.http), port: 8080).port == 8080)
        #expect(space(.proxy(.socks), port: 1080).port == 1080)
        #expect(space(.server(.http)).host == "example.com")
    }

    @Test func ofAServer() throws {
        let option = AuthenticationOption(
            scheme: .digest,
            challenge: AuthenticationChallenge(scheme: "digest", parameters: [.init("realm", "r")]))
        for (text, serverProtocol, port) in [
            ("http://example.com/x", ProtectionSpace.ServerProtocol.http, UInt16(80)),
            ("wss://example.com/", .https, 443),
        ] {
            #expect(
                ProtectionSpace(of: option, at: AuthenticationPeer(serverOf: try HTTPURL(text)))
                    == ProtectionSpace(
                        kind: .server(serverProtocol), host: "example.com", port: port, realm: "r", scheme: .digest))
        }
    }

    // AUTH-14, AUTH-28
    @Test func ofAProxy() throws {
        let proxy = try #require(ProxyServer("http://Proxy.test:3128"))
        let option = AuthenticationOption(scheme: .basic, challenge: AuthenticationChallenge(scheme: "basic"))
        let peer = AuthenticationPeer(proxy, as: .https)
        let space = ProtectionSpace(of: option, at: peer)
        #expect(
            space == ProtectionSpace(kind: .proxy(.https), host: "proxy.test", port: 3128, realm: nil, scheme: .basic))
    }

    // Beyond AUTH-12: a Basic challenge requires a realm (RFC 7617 §2)
    @Test func realmsThatAreNotNamed() {
        func effectiveRealm(
            _ kind: ProtectionSpace.Kind, _ realm: String?, _ scheme: AuthenticationScheme = .basic
        ) -> String? {
            ProtectionSpace(kind: kind, host: "Example.COM", port: 0, realm: realm, scheme: scheme).effectiveRealm
        }
        #expect(effectiveRealm(.server(.http), nil) == "example.com")
        #expect(effectiveRealm(.server(.https), nil) == "example.com")
        #expect(effectiveRealm(.proxy(.http), nil) == "example.com")
        #expect(effectiveRealm(.server(.http), "r") == "r")
        #expect(effectiveRealm(.server(.http), "") == "")
        #expect(effectiveRealm(.server(.ftp), nil) == nil)
        #expect(effectiveRealm(.server(.http), nil, .ntlm) == nil)
        #expect(effectiveRealm(.server(.http), nil, .negotiate) == nil)
    }

    // AUTH-28: credentials used over TLS are not used in cleartext with the same proxy
    @Test func peers() throws {
        let peers = [
            AuthenticationPeer(try #require(ProxyServer("http://proxy.test:3128")), as: .https),
            AuthenticationPeer(try #require(ProxyServer("https://proxy.test:3128")), as: .https),
            AuthenticationPeer(try #require(ProxyServer("http://proxy.test:3128")), as: .http),
            AuthenticationPeer(serverOf: try HTTPURL("https://proxy.test:3128/")),
        ]
        #expect(Set(peers).count == peers.count)
        #expect(AuthenticationPeer(try #require(ProxyServer("https://PROXY.test:3128")), as: .https) == peers[1])
    }

    @Test func secrecy() {
        #expect(!space(.server(.http)).receivesCredentialSecurely)
        #expect(space(.server(.https)).receivesCredentialSecurely)
        #expect(space(.server(.http), .digest).receivesCredentialSecurely)
        #expect(space(.proxy(.http), .ntlm).receivesCredentialSecurely)
        #expect(!space(.proxy(.https)).receivesCredentialSecurely)
    }

    @Test func proxies() {
        #expect(space(.proxy(.http)).isProxy)
        #expect(!space(.server(.http)).isProxy)
        #expect(space(.proxy(.http)) != space(.server(.http), port: 0))
    }
}
