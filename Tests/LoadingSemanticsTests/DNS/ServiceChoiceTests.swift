import LoadingSemantics
import Testing

// CONN-6: RFC 9460 §3, §7.1
@Suite struct ServiceChoiceTests {
    private let origin = HostPort("a.example", 443)

    private func record(
        _ priority: UInt16, _ target: String, _ protocols: String..., hasDefault: Bool = true, port: UInt16? = nil
    ) -> HTTPSRecord {
        HTTPSRecord(
            priority: priority, target: target, protocols: protocols.map { Array($0.utf8) },
            hasDefaultProtocol: hasDefault, port: port)
    }

    private func choice(_ records: HTTPSRecord..., without broken: Set<String> = []) -> AlternativeService? {
        HTTPSRecord.http3(among: records, of: origin) { !broken.contains($0.hostPort(for: origin).host) }
    }

    @Test("a record with HTTP/3 is used, with its own target and port or the origin's") func place() {
        #expect(choice() == nil)
        #expect(choice(record(1, "a.example", "h3")) == AlternativeService(port: 443))
        #expect(choice(record(1, "a.example", "h2", "h3", port: 8443)) == AlternativeService(port: 8443))
        #expect(choice(record(1, "b.example", "h3")) == AlternativeService(host: "b.example", port: 443))
        let rooted = HTTPSRecord.http3(
            among: [record(1, "a.example", "h3")], of: HostPort("a.example.", 443)
        ) { _ in true }
        #expect(rooted == AlternativeService(port: 443))
    }

    // The "bad ports" of the Fetch Standard; RFC 9460 §7.2
    @Test("a record with a blocked port is skipped") func blockedPorts() {
        #expect(choice(record(1, "a.example", "h3", port: 25)) == nil)
        #expect(choice(record(1, "b.example", "h3", port: 6667), record(2, "c", "h3"))?.host == "c")
        let own = HTTPSRecord.http3(
            among: [record(1, "a.example", "h3")], of: HostPort("a.example", 6000)
        ) { _ in true }
        #expect(own == AlternativeService(port: 6000))
    }

    @Test("a record without HTTP/3 is not used") func otherVersions() {
        #expect(choice(record(1, "a.example")) == nil)
        #expect(choice(record(1, "a.example", "h2")) == nil)
        #expect(choice(record(1, "a.example", "h3-29", "h33", "H3")) == nil)
    }

    // §2.4.1: what the server likes better is not passed by for the sake of HTTP/3
    @Test("the smallest priority decides") func priority() {
        #expect(choice(record(1, "b", "h2"), record(2, "c", "h3")) == nil)
        #expect(choice(record(1, "b"), record(2, "c", "h3")) == nil)
        #expect(choice(record(1, "b", "h3"), record(2, "c", "h3"))?.host == "b")
        #expect(choice(record(2, "c", "h3"), record(1, "b", "h3"))?.host == "b")
        #expect(choice(record(2, "c", "h3"), record(1, "b", "h2")) == nil)
        // Within one priority, records with HTTP/3 come first.
        #expect(choice(record(1, "b", "h2"), record(1, "c", "h3"))?.host == "c")
        #expect(choice(record(1, "b", "h3"), record(1, "c", "h3"), record(1, "d", "h2"))?.host == "b")
    }

    // §3: what cannot be used is as if it were not there
    @Test("records with unsupported protocols or unreachable endpoints are skipped") func unusable() {
        #expect(choice(record(1, "b", "h9", hasDefault: false), record(2, "c", "h3"))?.host == "c")
        #expect(choice(record(1, "b", "http/1.1", hasDefault: false), record(2, "c", "h3")) == nil)
        #expect(choice(record(1, "b", "h3"), record(2, "c", "h3"), without: ["b"])?.host == "c")
        #expect(choice(record(1, "b", "h3"), record(1, "c", "h3"), without: ["b"])?.host == "c")
        #expect(choice(record(1, "b", "h3"), record(2, "c", "h2"), record(3, "d", "h3"), without: ["b"]) == nil)
        #expect(choice(record(1, "b", "h3"), without: ["b"]) == nil)
    }
}
