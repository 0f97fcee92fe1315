import Foundation
import LoadingSemantics
import Testing

@testable import URLLoading

/// Cookies that were received before the persistent ones were read.
@Suite struct EarlyCookiesTests {
    private func receipt(_ fields: [String]) throws -> EarlyCookies.Receipt {
        let url = try #require(URL(string: "https://example.org/"))
        let request = try #require(CookieRequest(url, document: nil, partition: nil))
        return EarlyCookies.Receipt(fields: fields, request: request, policy: .always, time: 0)
    }

    private func takeAll(of early: inout EarlyCookies) -> [String] {
        var fields: [String] = []
        while let receipt = early.takeFirst() { fields += receipt.fields }
        return fields
    }

    // COOK-17
    @Test("cookies are taken in order, also while more are added") func order() throws {
        var early = EarlyCookies()
        for number in 0..<3 { early.add(try receipt(["n\(number)=v"])) }
        #expect(early.takeFirst()?.fields == ["n0=v"])
        early.add(try receipt(["n3=v"]))
        #expect(early.fieldCount == 3)
        #expect(takeAll(of: &early) == ["n1=v", "n2=v", "n3=v"])
        #expect(early.fieldCount == 0 && early.takeFirst() == nil)
    }

    // COOK-17
    @Test("invalid cookies are not queued, and the queue is bounded in bytes") func bytes() throws {
        var early = EarlyCookies()
        let large = String(repeating: "v", count: 5000)
        early.add(try receipt(["a=" + large, "=", "b=\0"]))
        #expect(early.fieldCount == 0 && early.isEmpty)
        early.add(try receipt(["a=" + large, "c=v; Unknown=" + large]))
        #expect(early.fieldCount == 1)
        let long = String(repeating: "v", count: 200_000)
        for number in 0..<200 { early.add(try receipt(["n\(number)=v; Unknown=" + long])) }
        #expect(early.byteCount <= 32 << 20)
        let last = try #require(takeAll(of: &early).last)
        #expect(last.hasPrefix("n199=v"))
        #expect(early.byteCount == 0 && early.isEmpty)
    }

    // COOK-17
    @Test("the address that a cookie came from counts too") func addresses() throws {
        var early = EarlyCookies()
        let long = CookieRequest(try HTTPURL("https://example.org/" + String(repeating: "p", count: 200_000)))
        for number in 0..<500 {
            early.add(EarlyCookies.Receipt(fields: ["n\(number)=v"], request: long, policy: .always, time: 0))
        }
        #expect(early.fieldCount < 200)
        #expect(early.byteCount <= 32 << 20)
        #expect(takeAll(of: &early).last == "n499=v")
    }
}
