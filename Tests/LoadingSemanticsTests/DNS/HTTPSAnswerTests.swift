import LoadingSemantics
import Testing

// CONN-6: RFC 9460
@Suite struct HTTPSAnswerTests {
    private func answer(_ packet: DNSPacket, about name: String = "a.example") -> HTTPSAnswer? {
        HTTPSAnswer(packet.bytes, about: name)
    }

    private func content(_ data: [UInt8]) -> HTTPSAnswer.Content? {
        answer(DNSPacket(answers: 1).record(data))?.content
    }

    @Test("a record has protocols, a port and address hints") func service() throws {
        let data = DNSPacket.https(
            1, "", (1, DNSPacket.h3 + DNSPacket.h2), (2, []), (3, [0x20, 0xFB]), (4, [192, 0, 2, 1, 192, 0, 2, 2]),
            (5, [1, 2, 3]), (6, [UInt8](repeating: 7, count: 16)), (65280, [9]))
        let record = HTTPSRecord(
            priority: 1, target: "a.example", protocols: [Array("h3".utf8), Array("h2".utf8)],
            hasDefaultProtocol: false,
            port: 8443, ipv4Hints: [[192, 0, 2, 1], [192, 0, 2, 2]], ipv6Hints: [[UInt8](repeating: 7, count: 16)])
        #expect(answer(DNSPacket(answers: 1).record(data)) == HTTPSAnswer(.services([record]), lifetime: 300))
        #expect(record.supportsHTTP3)
        #expect(record.hostPort(for: HostPort("a.example", 443)) == HostPort("a.example", 8443))
        let plain = HTTPSRecord(priority: 7, target: "b.example")
        #expect(content(DNSPacket.https(7, "B.Example")) == .services([plain]))
        #expect(!plain.supportsHTTP3 && plain.hasDefaultProtocol)
        #expect(plain.hostPort(for: HostPort("a.example", 444)) == HostPort("b.example", 444))
    }

    @Test("records are sorted by priority") func order() {
        let packet = DNSPacket(answers: 4).record(DNSPacket.https(3, "c"), lifetime: 9)
            .record(DNSPacket.https(1, "b"), lifetime: 8).record(DNSPacket.https(1, "a"), lifetime: 10)
            .record([1, 2, 3, 4], type: 1, lifetime: 1)
        let records = [(1, "b"), (1, "a"), (3, "c")].map { HTTPSRecord(priority: $0.0, target: $0.1) }
        #expect(answer(packet) == HTTPSAnswer(.services(records), lifetime: 8))
    }

    // §2.4.2, §2.5.1
    @Test("an AliasMode record overrides others") func alias() {
        #expect(content(DNSPacket.https(0, "Pool.Example")) == .alias("pool.example"))
        #expect(content(DNSPacket.https(0, "b", (9, [1]), (1, []))) == .alias("b"))
        #expect(content(DNSPacket.https(0, "")) == HTTPSAnswer.Content.none)
        let both = DNSPacket(answers: 2).record(DNSPacket.https(1, "a")).record(DNSPacket.https(0, "b"))
        #expect(answer(both)?.content == .alias("b"))
    }

    @Test("a CNAME is followed") func canonicalName() {
        let packet = DNSPacket(answers: 3)
            .record(DNSPacket.https(1, ""), owner: DNSPacket.name("c.example"), lifetime: 60)
            .record([1, UInt8(ascii: "C"), 0xC0, 14], type: 5, lifetime: 50)
            .record(DNSPacket.https(2, ""), owner: DNSPacket.name("d.example"), lifetime: 1)
        let record = HTTPSRecord(priority: 1, target: "c.example")
        #expect(answer(packet) == HTTPSAnswer(.services([record]), lifetime: 50))
        let circle = DNSPacket(answers: 1).record([0xC0, 12], type: 5)
        #expect(answer(circle) == HTTPSAnswer(.none, lifetime: 300))
    }

    // §8
    @Test("a record with an unsupported mandatory parameter is ignored") func mandatory() {
        let known = DNSPacket.https(1, "", (0, [0, 1, 0, 3]), (1, DNSPacket.h3), (3, [1, 187]))
        guard case .services(let records) = content(known) else {
            Issue.record("nothing is understood")
            return
        }
        #expect(records.map(\.port) == [443])
        let unknown = DNSPacket.https(1, "", (0, [0, 5]), (5, [1]))
        #expect(content(unknown) == HTTPSAnswer.Content.none)
        let packet = DNSPacket(answers: 2).record(unknown).record(DNSPacket.https(2, "b"))
        #expect(answer(packet)?.content == .services([HTTPSRecord(priority: 2, target: "b")]))
        #expect(content(DNSPacket.https(1, "", (2, []))) == HTTPSAnswer.Content.none)
        #expect(content(DNSPacket.https(1, "", (3, [0, 0]))) == HTTPSAnswer.Content.none)
        #expect(content(DNSPacket.https(1, "a b")) == HTTPSAnswer.Content.none)
    }

    // §2.2, §2.4.1
    @Test(
        "a malformed record invalidates the whole answer",
        arguments: [
            [], [0], [0, 1], [0, 1, 1], [0, 1, 64, 0], [0, 1, 0xC0, 12], [0, 1, 0, 0], [0, 1, 0, 0, 3, 0, 2, 1],
            DNSPacket.https(1, "", (3, [1])), DNSPacket.https(1, "", (3, [1, 2, 3])), DNSPacket.https(1, "", (1, [])),
            DNSPacket.https(1, "", (1, [0])), DNSPacket.https(1, "", (1, [3, 1, 2])), DNSPacket.https(1, "", (2, [1])),
            DNSPacket.https(1, "", (4, [])), DNSPacket.https(1, "", (4, [1, 2, 3])),
            DNSPacket.https(1, "", (6, [1, 2, 3, 4])),
            DNSPacket.https(1, "", (3, [1, 2]), (1, DNSPacket.h3)), DNSPacket.https(1, "", (3, [1, 2]), (3, [1, 2])),
            DNSPacket.https(1, "", (0, [])), DNSPacket.https(1, "", (0, [0])), DNSPacket.https(1, "", (0, [0, 0])),
            DNSPacket.https(1, "", (0, [0, 3, 0, 1]), (1, DNSPacket.h3), (3, [1, 2])),
            DNSPacket.https(1, "", (0, [0, 3])),
            DNSPacket.https(1, "", (0, [0, 1, 0, 1]), (1, DNSPacket.h3)),
            DNSPacket.https(1, "", (0, [0, 1]), (3, [1, 2])),
        ] as [[UInt8]])
    func malformed(data: [UInt8]) {
        #expect(content(data) == nil)
        let good = DNSPacket.https(1, "", (1, DNSPacket.h3))
        #expect(answer(DNSPacket(answers: 2).record(good).record(data)) == nil)
        // A malformed record of another name does not matter.
        let other = DNSPacket(answers: 2).record(data, owner: DNSPacket.name("b")).record(good)
        #expect(answer(other) != nil)
    }

    @Test("a response without records means that there are none") func nothing() {
        #expect(answer(DNSPacket(answers: 0)) == HTTPSAnswer(.none, lifetime: nil))
        let foreign = DNSPacket(answers: 2).record(DNSPacket.https(1, ""), kind: 3).record([1, 2, 3, 4], type: 1)
        #expect(answer(foreign) == HTTPSAnswer(.none, lifetime: nil))
    }

    // RFC 1035 §4.1.1: a question, cut off, an error, another kind of question
    @Test(
        "other than complete, successful responses are ignored",
        arguments: [0x0180, 0x8380, 0x8182, 0x8183, 0x8980] as [UInt16])
    func flags(flags: UInt16) {
        let packet = DNSPacket(answers: 1, flags: flags).record(DNSPacket.https(1, ""))
        #expect(answer(packet) == nil)
    }

    @Test("a truncated message is rejected") func truncation() {
        let packet = DNSPacket(answers: 2).record([1, UInt8(ascii: "c"), 0xC0, 14], type: 5)
            .record(DNSPacket.https(1, "b", (1, DNSPacket.h3)), owner: DNSPacket.name("c.example"))
        #expect(answer(packet) != nil)
        for count in packet.bytes.indices {
            #expect(HTTPSAnswer(Array(packet.bytes.prefix(count)), about: "a.example") == nil)
        }
        #expect(HTTPSAnswer(packet.bytes + [1, 2, 3], about: "a.example") == answer(packet))
    }

    // RFC 1035 §4.1.4
    @Test(
        "compression pointers must point backwards",
        arguments: [
            [0xC0, 31], [0xC0, 255], [0xFF, 255], [0xC0], [1, UInt8(ascii: "x"), 0xC0, 31], [0x80, 1], [0x40, 1],
        ] as [[UInt8]])
    func pointers(owner: [UInt8]) {
        // The first record begins at 27.
        #expect(DNSPacket(answers: 1).bytes.count == 27)
        let packet = DNSPacket(answers: 1).record([1], owner: [1, UInt8(ascii: "x"), 0xC0, 27], type: 1)
        #expect(answer(packet) == nil)
        #expect(answer(DNSPacket(answers: 1).record(DNSPacket.https(1, ""), owner: owner)) == nil)
    }

    @Test("a name has at most 255 octets, compressed or not") func longName() {
        let long = (0..<4).map { _ in String(repeating: "a", count: 49) }.joined(separator: ".")
        func leading(to suffix: [UInt8]) -> DNSPacket {
            DNSPacket(long, answers: 1).record(DNSPacket.https(1, ""), owner: suffix + [0xC0, 12])
        }
        let label = [UInt8](repeating: UInt8(ascii: "b"), count: 53)
        #expect(answer(leading(to: [53] + label)) != nil)
        #expect(answer(leading(to: [54, 98] + label)) == nil)
    }

    @Test("a TTL has 31 bits") func lifetime() {
        let data = DNSPacket.https(1, "b")
        let services = HTTPSAnswer.Content.services([HTTPSRecord(priority: 1, target: "b")])
        for (reported, meant) in [(0, 0), (0x7FFF_FFFF, 0x7FFF_FFFF), (0x8000_0000, 0), (.max, 0)] as [(UInt32, UInt32)]
        {
            #expect(
                answer(DNSPacket(answers: 1).record(data, lifetime: reported)) == HTTPSAnswer(services, lifetime: meant)
            )
        }
    }

    @Test("the number of records is limited") func limits() throws {
        let names = [[UInt8]](repeating: DNSPacket.h2, count: 60).flatMap { $0 }
        let hints = [UInt8](repeating: 1, count: 400)
        var packet = DNSPacket(answers: 1000)
        for index in 0..<1000 {
            packet = packet.record(DNSPacket.https(UInt16(index + 1), "", (1, names), (4, hints), (6, hints)))
        }
        guard case .services(let records) = try #require(answer(packet)).content else {
            Issue.record("no service")
            return
        }
        #expect(records.count == 32)
        #expect(records.allSatisfy { $0.protocols.count == 16 && $0.ipv4Hints.count == 16 && $0.ipv6Hints.count == 16 })
    }
}
