import LoadingSemantics
import LoadingTransport
import Testing

@testable import LoadingConnections

@Suite struct ConnectionKeyTests {
    private static func keys() throws -> [ConnectionKey] {
        let proxy = try #require(ProxyServer(kind: .http, host: "proxy.example", port: 8080))
        let ordinary = NetworkService()
        let rows:
            [(secure: Bool, host: String, port: UInt16, identity: UInt64, old: Bool, NetworkService, ProxyMode?)] = [
                (true, "a.example", 443, 0, false, ordinary, nil),
                (false, "a.example", 443, 0, false, ordinary, nil),
                (true, "b.example", 443, 0, false, ordinary, nil),
                (true, "a.example", 444, 0, false, ordinary, nil),
                (true, "a.example", 443, 0, true, ordinary, nil),
                (true, "a.example", 443, 1, false, ordinary, nil),
                (true, "a.example", 443, 2, false, ordinary, nil),
                (true, "a.example", 443, 0, false, NetworkService(trafficClass: 8), nil),
                (true, "a.example", 443, 0, false, ordinary, .tunnel(proxy)),
                (true, "a.example", 443, 0, false, ordinary, .forwarding(proxy, identity: 0)),
                (true, "a.example", 443, 0, false, ordinary, .forwarding(proxy, identity: 1)),
            ]
        return rows.map { row in
            ConnectionKey(
                isSecure: row.secure, host: row.host, port: row.port, identity: row.identity, needsHTTP1: row.old,
                service: row.5, proxyMode: row.6)
        }
    }

    // CONN-1, AUTH-19, PROXY-2: whatever differs keeps requests apart
    @Test("keys that differ in one property are different") func differences() throws {
        let keys = try Self.keys()
        for (index, key) in keys.enumerated() {
            #expect(keys.firstIndex(of: key) == index)
            #expect(keys.lastIndex(of: key) == index)
        }
        let places = Dictionary(uniqueKeysWithValues: keys.enumerated().map { ($1, $0) })
        for (index, key) in keys.enumerated() { #expect(places[key] == index) }
    }
}
