import Testing

@testable import LoadingProtocols

@Suite("Datagrams that serve no request") struct HTTP3DatagramBudgetTests {
    // CONN-22: behind a datagram that is lost, nothing of what the windows let come is delivered
    @Test("a window of a fast download may come behind a gap") func gap() {
        var budget = HTTP3DatagramBudget()
        for _ in 0..<27_000 {
            let isAllowed = budget.received(1, overhead: 3)
            #expect(isAllowed)
            budget.addReceivedContent(1_150, in: 1)
        }
        var count = 0
        while budget.received(1, overhead: 3), count < 100_000 { count += 1 }
        #expect(count > 16_777_216 / 1_150)
        #expect(count <= AbuseBudget.maximumFromWindows)
    }

    // S-7
    @Test("frames of single octets earn no more than others") func small() {
        var budget = HTTP3DatagramBudget()
        for _ in 0..<10_000 { budget.addReceivedContent(1, in: 1) }
        var count = 0
        while budget.received(1, overhead: 0) { count += 1 }
        #expect(count == AbuseBudget.maximum)
    }
}
