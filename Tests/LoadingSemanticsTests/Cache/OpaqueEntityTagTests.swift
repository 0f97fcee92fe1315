import LoadingSemantics
import Testing

/// Entity tags with octets that are not ASCII. They are opaque (RFC 9110 §5.5, §8.8.3).
@Suite struct OpaqueEntityTagTests {
    private static let latin1: [UInt8] = [0x22, 0xFC, 0x22]
    /// The same text in UTF-8, as one character and as two.
    private static let utf8: [UInt8] = [0x22, 0xC3, 0xBC, 0x22]
    private static let decomposed: [UInt8] = [0x22, 0x75, 0xCC, 0x88, 0x22]
    private static let all = [latin1, utf8, decomposed]

    private func fields(_ tag: [UInt8], _ others: [(String, String)] = []) -> HTTPFields {
        var fields = HTTPFields(others)
        fields.append("ETag", octets: tag[...])
        return fields
    }

    private func stored(_ tag: [UInt8], language: String? = nil) throws -> StoredResponse {
        let request = try CacheFixtures.request(language.map { [("Accept-Language", $0)] } ?? [])
        let decision = CacheStorageRules.decide(
            request, status: 200,
            fields: fields(
                tag, [("Cache-Control", "no-cache")] + (language == nil ? [] : [("Vary", "Accept-Language")])),
            requestTime: CacheFixtures.start, responseTime: CacheFixtures.start, isComplete: true)
        guard case .store(let response) = decision else { throw CacheFixtures.NotStored(decision: decision) }
        return response
    }

    private func sent(_ stored: [StoredResponse]) throws -> [UInt8]? {
        let decision = CacheRules.decide(try CacheFixtures.request(), stored: stored, now: CacheFixtures.start + 10)
        guard case .revalidate(_, let added, _) = decision else { return nil }
        return added.firstOctets("If-None-Match").map { Array($0) }
    }

    // CACHE-13, CACHE-16
    @Test(arguments: all) func areSentBack(tag: [UInt8]) throws { #expect(try sent([stored(tag)]) == tag) }

    // CACHE-18: RFC 9110 §13.1.2
    @Test func ofSeveralVariants() throws {
        let variants = try zip(Self.all, ["de", "fr", "it"]).map { try stored($0, language: $1) }
        let list = Array(Self.all.joined(separator: [0x2C, 0x20]))
        #expect(try sent(variants) == list)
    }

    // CACHE-14: RFC 9111 §4.3.4
    @Test(arguments: all, all) func selection(tag: [UInt8], answered: [UInt8]) throws {
        let validation = CacheValidationRules.read(
            status: 304, fields: fields(answered), requestTime: CacheFixtures.start, responseTime: CacheFixtures.start,
            to: try CacheFixtures.request(), stored: [try stored(tag)], validated: [0])
        #expect((validation == .unusable) == (tag != answered))
    }

    // CACHE-20: RFC 9111 §4.3.5
    @Test(arguments: all, all) func heads(tag: [UInt8], answered: [UInt8]) throws {
        let effects = CacheValidationRules.readHead(
            status: 200, fields: fields(answered), requestTime: CacheFixtures.start, responseTime: CacheFixtures.start,
            to: try CacheFixtures.request(method: "HEAD"), stored: [try stored(tag)])
        guard case .changed(let response)? = effects[0] else { throw Unchanged() }
        #expect(response.needsValidation == (tag != answered))
    }

    private struct Unchanged: Error {}

    // RES-1, RES-3: resume data has text, so a tag that is not UTF-8 is no validator. The date is one.
    @Test func ofDownloads() throws {
        let date = "Sun, 06 Nov 1994 08:49:37 GMT"
        #expect(ResumeValidator(fields(Self.utf8)) == .entityTag("\"\u{FC}\""))
        #expect(ResumeValidator(fields(Self.latin1)) == nil)
        #expect(ResumeValidator(fields(Self.latin1, [("Last-Modified", date)])) == .lastModified(date))
    }

    // RES-4
    @Test(arguments: all) func ofTheRest(tag: [UInt8]) throws {
        let point = try #require(
            DownloadResumePoint(
                originalURL: "http://a.example/f", url: "http://a.example/f", requestFields: HTTPFields(),
                validator: .entityTag("\"\u{FC}\""), bytesReceived: 400, total: 1000, fileName: "f.tmp"))
        let decision = ResumeRules.decide(
            status: 206, fields: fields(tag, [("Content-Range", "bytes 400-999/1000")]), of: point, mayRestart: true)
        #expect((decision == .append(offset: 400, length: 600, total: 1000)) == (tag == Self.utf8))
    }
}
