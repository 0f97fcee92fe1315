import Foundation
import LoadingConnections
import LoadingTransport
import TestSupport
import Testing

@Suite(.needs("libdbus-1.so.3", of: "libdbus-1-3", dlopen("libdbus-1.so.3", RTLD_NOW) != nil), .leakChecked)
struct MulticastLookupTests {
    // STREAM-10
    @Test("multicast DNS is responsible for names in .local") func names() {
        let table: [(String, Bool)] = [
            ("host.local", true), ("host.local.", true), ("HOST.LOCAL", true), ("a.b.local", true), ("local", false),
            (".local", false), ("host.local..", false), ("hostlocal", false), ("host.local.example", false),
            ("", false),
        ]
        for (host, isIt) in table { #expect(MulticastLookup.isResponsible(for: host) == isIt, "\(host)") }
    }

    private static func answer(
        _ family: SocketAddress.Family, _ steps: [ScriptedBus.Step], host: String = "host.local"
    ) throws -> AddressAnswer? {
        let bus = try ScriptedBus { $0.member == "ResolveHostName" ? steps : nil }
        defer { bus.stop() }
        return MulticastLookup.answer(
            to: AddressQuery(host, family), from: ServiceDiscovery(busAddress: bus.address))
    }

    private static func reply(_ address: String, interface: Int32 = 1) -> [ScriptedBus.Step] {
        [
            .reply([
                .int32(interface), .int32(0), .text("host.local"), .int32(0), .text(address), .uint32(0),
            ])
        ]
    }

    // STREAM-10
    @Test("Avahi's address is the answer, with the zone of a link-local one") func addresses() throws {
        let ipv4 = try #require(SocketAddress(literal: "192.0.2.1", port: 0))
        let ipv6 = try #require(SocketAddress(literal: "fe80::2%1", port: 0))
        #expect(try Self.answer(.ipv4, Self.reply("192.0.2.1")) == .success([ipv4]))
        #expect(try Self.answer(.ipv6, Self.reply("fe80::2")) == .success([ipv6]))
    }

    // STREAM-10
    @Test("a name that is not there has no address; without Avahi there is no answer") func failures() throws {
        let unknown = AddressAnswer.failure(NameFailure(code: EAI_NONAME))
        let timeout = ScriptedBus.Step.error("org.freedesktop.Avahi.TimeoutError")
        #expect(try Self.answer(.ipv4, [timeout]) == unknown)
        #expect(try Self.answer(.ipv4, [.error("org.freedesktop.DBus.Error.ServiceUnknown")]) == nil)
        #expect(try Self.answer(.ipv4, [.close]) == nil)
        #expect(try Self.answer(.ipv4, [], host: "a\0.local") == nil)
        // Of the other family, of another form, and no address.
        #expect(try Self.answer(.ipv4, Self.reply("::1")) == nil)
        #expect(try Self.answer(.ipv4, [.reply([.text("192.0.2.1")])]) == nil)
        #expect(try Self.answer(.ipv4, Self.reply("host")) == nil)
        let absent = ServiceDiscovery(busAddress: "unix:path=/absent/bus")
        #expect(MulticastLookup.answer(to: AddressQuery("host.local", .ipv4), from: absent) == nil)
    }
}
