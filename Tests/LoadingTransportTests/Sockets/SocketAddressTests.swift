import Glibc
import LoadingTransport
import Testing

@Suite struct SocketAddressTests {
    // CONN-9, MET-9
    @Test(arguments: [
        ("127.0.0.1", "127.0.0.1"), ("0.0.0.0", "0.0.0.0"), ("255.255.255.255", "255.255.255.255"), ("::1", "::1"),
        ("::", "::"), ("2001:DB8:0:0:0:0:0:A", "2001:db8::a"), ("::ffff:10.1.2.3", "::ffff:10.1.2.3"),
        ("fe80::1%7", "fe80::1%7"),
        ("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
    ])
    func literals(text: String, description: String) throws {
        let address = try #require(SocketAddress(literal: text, port: 8080))
        #expect(address.description == description)
        #expect(address.port == 8080)
        #expect(address.family == (text.contains(":") ? .ipv6 : .ipv4))
    }

    // CONN-9
    @Test func aZoneHasANameToo() throws {
        let address = try #require(SocketAddress(literal: "fe80::1%lo", port: 1))
        #expect(address.scope == if_nametoindex("lo"))
    }

    // CONN-9
    @Test(arguments: [
        "", "localhost", "1.2.3", "1.2.3.4.5", "1.2.3.256", "01.2.3.4x", " 1.2.3.4", "1.2.3.4\u{0}", "[::1]", ":::",
        "fe80::1%", "fe80::1%0", "fe80::1%nosuchinterface", "::1 ", "1.2.3.4%1", "%1", "12345::",
    ])
    func invalidLiterals(text: String) {
        #expect(SocketAddress(literal: text, port: 80) == nil)
    }

    // CONN-9
    @Test(arguments: ["10.20.30.40", "2001:db8::1", "fe80::1%3"])
    func goesToTheKernelAndBack(text: String) throws {
        let address = try #require(SocketAddress(literal: text, port: 443))
        let same = address.withSockaddr { bytes, count in
            SocketAddress(sockaddr: bytes, count: Int(count))
        }
        #expect(same == address)
        let short = address.withSockaddr { bytes, count in
            (0..<Int(count)).map { SocketAddress(sockaddr: bytes, count: $0) }
        }
        #expect(short.allSatisfy { $0 == nil })
    }

    // CONN-9
    @Test func theKernelsFormIsRight() throws {
        let address = try #require(SocketAddress(literal: "1.2.3.4", port: 0x1F90))
        let bytes = address.withSockaddr { bytes, count in
            Array(UnsafeRawBufferPointer(start: bytes, count: Int(count)))
        }
        #expect(bytes == [UInt8(AF_INET), 0, 0x1F, 0x90, 1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 0])
    }

    // CONN-9
    @Test func otherFamiliesAreNone() {
        var local = sockaddr_un()
        local.sun_family = sa_family_t(AF_UNIX)
        #expect(SocketAddress(sockaddr: &local, count: MemoryLayout<sockaddr_un>.size) == nil)
    }

    // PROXY-9
    @Test func loopback() {
        let texts = ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1", "128.0.0.1", "::2", "::ffff:1.0.0.127", "::"]
        let loops = texts.map { SocketAddress(literal: $0, port: 1)?.isLoopback }
        #expect(loops == [true, true, true, true, false, false, false, false])
    }

    @Test func equalityHasEveryPart() {
        let one = SocketAddress(literal: "fe80::1%1", port: 1)
        #expect(one == SocketAddress(literal: "FE80:0::1%1", port: 1))
        #expect(one != SocketAddress(literal: "fe80::1%2", port: 1))
        #expect(one != SocketAddress(literal: "fe80::1%1", port: 2))
        #expect(SocketAddress(literal: "0.0.0.1", port: 1) != SocketAddress(literal: "::1", port: 1))
    }
}
