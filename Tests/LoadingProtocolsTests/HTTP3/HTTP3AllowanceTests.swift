import Testing

@testable import LoadingProtocols

@Suite("What a server may have done for nothing over HTTP/3") struct HTTP3AllowanceTests {
    // CONN-22: behind a datagram that is lost, nothing of what the windows let come is told
    @Test("a window of a fast download may come behind a gap") func gap() {
        var allowance = HTTP3Allowance()
        for _ in 0..<27_000 {
            let isAllowed = allowance.received(1, overhead: 3)
            #expect(isAllowed)
            allowance.addContent(1_150, in: 1)
        }
        var count = 0
        while allowance.received(1, overhead: 3), count < 100_000 { count += 1 }
        #expect(count > 16_777_216 / 1_150)
        #expect(count <= HTTP3Allowance.mostPromised)
    }

    // S-7
    @Test("frames of single octets earn no more than others") func small() {
        var allowance = HTTP3Allowance()
        for _ in 0..<10_000 { allowance.addContent(1, in: 1) }
        var count = 0
        while allowance.received(1, overhead: 0) { count += 1 }
        #expect(count == HTTP3Allowance.most)
    }
}
