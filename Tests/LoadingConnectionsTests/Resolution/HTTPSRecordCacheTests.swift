import LoadingSemantics
import Testing

@testable import LoadingConnections

// CONN-6, CONN-20
@Suite struct HTTPSRecordCacheTests {
    private let question = HTTPSRecordQuery("a.example", port: 443)

    private func found(_ lifetime: UInt32?) -> HTTPSRecordAnswer {
        .success(HTTPSRecordSet([HTTPSRecord(priority: 1, target: "b")], lifetime: lifetime))
    }

    @Test(
        "an answer lives as long as it says, and a day at most",
        arguments: [
            (1, 1), (300, 300), (86_400, 86_400), (86_401, 86_400), (0x7FFF_FFFF, 86_400), (nil, 30),
        ] as [(UInt32?, Int64)])
    func lifetime(lifetime: UInt32?, seconds: Int64) {
        var memory = HTTPSRecordCache()
        memory.remember(found(lifetime), to: question, at: 5)
        let end = 5 + seconds * 1_000_000_000
        #expect(memory.answer(to: question, at: end - 1) == found(lifetime))
        #expect(memory.answer(to: question, at: end) == nil)
        #expect(memory.answer(to: HTTPSRecordQuery("a.example", port: 8443), at: 5) == nil)
    }

    @Test("what is for no time is not remembered, and drops what was") func noTime() {
        var memory = HTTPSRecordCache()
        memory.remember(found(60), to: question, at: 0)
        memory.remember(found(0), to: question, at: 1)
        #expect(memory.answer(to: question, at: 1) == nil)
        #expect(memory.count == 0)
    }

    @Test(
        "that there is nothing, or no answer, is remembered for half a minute",
        arguments: [
            .success(.none), .failure(NameFailure(code: -3)),
        ] as [HTTPSRecordAnswer])
    func nothing(answer: HTTPSRecordAnswer) {
        var memory = HTTPSRecordCache()
        memory.remember(answer, to: question, at: 0)
        #expect(memory.answer(to: question, at: 29_999_999_999) == answer)
        #expect(memory.answer(to: question, at: 30_000_000_000) == nil)
    }

    @Test("a host is forgotten with all of its ports") func forgetting() {
        var memory = HTTPSRecordCache()
        let other = HTTPSRecordQuery("b.example", port: 443)
        for question in [question, HTTPSRecordQuery("a.example", port: 1), other] {
            memory.remember(found(60), to: question, at: 0)
        }
        memory.forget("a.example")
        #expect(memory.count == 1)
        #expect(memory.answer(to: other, at: 0) == found(60))
        memory.forgetAll()
        #expect(memory.count == 0)
    }

    @Test("the memory is bounded") func bounds() {
        var memory = HTTPSRecordCache()
        for index in 0..<2_000 {
            memory.remember(found(UInt32(index % 7 + 1)), to: HTTPSRecordQuery("h\(index).a", port: 443), at: 0)
            #expect(memory.count <= 512)
        }
    }
}
