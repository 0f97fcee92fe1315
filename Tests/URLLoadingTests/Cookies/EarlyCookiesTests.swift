import Foundation
import LoadingSemantics
import Testing

@testable import URLLoading

/// What waits for the cookies that last to be read.
@Suite struct EarlyCookiesTests {
    private func receipt(_ fields: [String]) throws -> EarlyCookies.Receipt {
        let url = try #require(URL(string: "https://example.org/"))
        let request = try #require(CookieRequest(url, document: nil, partition: nil))
        return EarlyCookies.Receipt(fields: fields, request: request, policy: .always)
    }

    // COOK-17
    @Test("what no jar takes does not wait, and of what one takes no more than so many bytes") func bytes() throws {
        var early = EarlyCookies()
        let large = String(repeating: "v", count: 5000)
        #expect(try !early.add(receipt(["a=" + large, "=", "b=\0"])))
        #expect(early.fieldCount == 0)
        #expect(try early.add(receipt(["a=" + large, "c=v; Unknown=" + large])))
        #expect(early.fieldCount == 1)
        let long = String(repeating: "v", count: 200_000)
        for number in 0..<500 { #expect(try !early.add(receipt(["n\(number)=v; Unknown=" + long]))) }
        #expect(early.byteCount <= 32 << 20)
        let last = try #require(early.takeAll().last?.fields.first)
        #expect(last.hasPrefix("n499=v"))
        #expect(early.byteCount == 0)
    }

    // COOK-17
    @Test("the address that a cookie came from counts too") func addresses() throws {
        var early = EarlyCookies()
        let long = CookieRequest(try HTTPURL("https://example.org/" + String(repeating: "p", count: 200_000)))
        for number in 0..<500 {
            _ = early.add(EarlyCookies.Receipt(fields: ["n\(number)=v"], request: long, policy: .always))
        }
        #expect(early.fieldCount < 200)
        #expect(early.byteCount <= 32 << 20)
        #expect(early.takeAll().last?.fields == ["n499=v"])
    }
}
