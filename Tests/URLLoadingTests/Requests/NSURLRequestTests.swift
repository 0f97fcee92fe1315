import Foundation
import Testing

@testable import URLLoading

@Suite struct NSURLRequestTests {
    let url = URL(string: "https://example.com/")!

    @Test func convertsBothWays() {
        var value = URLRequest(url: url)
        value.httpMethod = "POST"
        value.setValue("1", forHTTPHeaderField: "A")
        let object = value as NSURLRequest
        #expect(object.httpMethod == "POST")
        #expect(object.allHTTPHeaderFields == ["A": "1"])
        #expect(object as URLRequest == value)
        #expect((object as Any) as? URLRequest == value)
    }

    // MISC-21
    @Test func copiesAreImmutableAndMutableOnes() throws {
        let mutable = NSMutableURLRequest(url: url, cachePolicy: .reloadIgnoringLocalCacheData, timeoutInterval: 5)
        mutable.httpMethod = "put"
        mutable.addValue("1", forHTTPHeaderField: "A")
        let copy = try #require(mutable.copy() as? NSURLRequest)
        #expect(!(copy is NSMutableURLRequest))
        #expect(copy.isEqual(mutable))
        mutable.setValue("2", forHTTPHeaderField: "A")
        #expect(copy.value(forHTTPHeaderField: "a") == "1")
        #expect(copy.httpMethod == "PUT")
        #expect(copy.copy() as AnyObject === copy)
        let again = try #require(copy.mutableCopy() as? NSMutableURLRequest)
        again.url = nil
        #expect(again.url == nil)
        #expect(copy.url == url)
        #expect(copy.timeoutInterval == 5)
        #expect(copy.cachePolicy == .reloadIgnoringLocalCacheData)
    }

    // MISC-24
    @Test func survivesCoding() throws {
        var request = URLRequest(url: url, cachePolicy: .returnCacheDataDontLoad, timeoutInterval: 7)
        request.httpMethod = "PATCH"
        request.httpBody = Data("body".utf8)
        request.setValue("2", forHTTPHeaderField: "b")
        request.setValue("1", forHTTPHeaderField: "A")
        request.mainDocumentURL = URL(string: "https://example.org/")
        request.attribution = .user
        request.networkServiceType = .video
        request.cookiePartitionIdentifier = "jar"
        request.allowsCellularAccess = false
        let data = try NSKeyedArchiver.archivedData(
            withRootObject: request as NSURLRequest, requiringSecureCoding: true)
        let object = try NSKeyedUnarchiver.unarchivedObject(ofClass: NSURLRequest.self, from: data)
        let decoded = try #require(object)
        #expect(decoded as URLRequest == request)
        #expect((decoded as URLRequest).fields.map(\.name) == ["b", "A"])
        #expect((decoded as URLRequest).idleTimeout(in: SessionValues()) == 7)
    }

    @Test func rejectsArchivesOfSomethingElse() throws {
        let archiver = NSKeyedArchiver(requiringSecureCoding: true)
        archiver.finishEncoding()
        let unarchiver = try NSKeyedUnarchiver(forReadingFrom: archiver.encodedData)
        #expect(NSURLRequest(coder: unarchiver) == nil)
    }
}
