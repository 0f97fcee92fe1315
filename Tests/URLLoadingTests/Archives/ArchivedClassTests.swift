import Foundation
import Testing
import URLLoading

/// The names of classes in archives.
@Suite struct ArchivedClassTests {
    private static let url = URL(string: "http://example.org/a") ?? URL(fileURLWithPath: "/")

    /// An object of each class that can be archived, with Apple's name of the class.
    private static func objects() throws -> [(name: String, object: any (NSObject & NSSecureCoding))] {
        let response = URLResponse(
            url: url, mimeType: "text/plain", expectedContentLength: 1, textEncodingName: nil)
        let http = HTTPURLResponse(url: url, statusCode: 200, httpVersion: nil, headerFields: ["A": "b"])
        let space = URLProtectionSpace(
            host: "h", port: 80, protocol: "http", realm: "r", authenticationMethod: NSURLAuthenticationMethodHTTPBasic)
        let credential = URLCredential(user: "u", password: "p", persistence: .forSession)
        return [
            ("NSURLResponse", response),
            ("NSHTTPURLResponse", try #require(http)),
            ("NSCachedURLResponse", CachedURLResponse(response: response, data: Data("x".utf8))),
            ("NSURLRequest", NSURLRequest(url: url)), ("NSMutableURLRequest", NSMutableURLRequest(url: url)),
            ("NSURLProtectionSpace", space), ("NSURLCredential", credential),
            (
                "NSURLAuthenticationChallenge",
                URLAuthenticationChallenge(
                    protectionSpace: space, proposedCredential: credential, previousFailureCount: 0,
                    failureResponse: nil, error: nil, sender: Sender())
            ),
        ]
    }

    private final class Sender: NSObject, URLAuthenticationChallengeSender {
        func use(_ credential: URLCredential, for challenge: URLAuthenticationChallenge) {}
        func continueWithoutCredential(for challenge: URLAuthenticationChallenge) {}
        func cancel(_ challenge: URLAuthenticationChallenge) {}
        func performDefaultHandling(for challenge: URLAuthenticationChallenge) {}
        func rejectProtectionSpaceAndContinue(with challenge: URLAuthenticationChallenge) {}
    }

    /// The archive of an object, as text.
    private static func archive(_ object: any (NSObject & NSSecureCoding)) throws -> String {
        let data = try NSKeyedArchiver.archivedData(withRootObject: object, requiringSecureCoding: true)
        let xml = try PropertyListSerialization.data(
            fromPropertyList: PropertyListSerialization.propertyList(from: data, format: nil), format: .xml, options: 0)
        return String(decoding: xml, as: UTF8.self)
    }

    /// The archive of an object, in which its class has the second name in place of Apple's.
    private static func archive(
        _ object: any (NSObject & NSSecureCoding), named own: String, as name: String
    ) throws -> Data {
        let text = try archive(object)
        try #require(text.contains("<string>\(own)</string>"))
        return Data(text.replacingOccurrences(of: "<string>\(own)</string>", with: "<string>\(name)</string>").utf8)
    }

    private static func read(_ archive: Data, as kind: any (NSObject & NSSecureCoding).Type) throws -> NSObject? {
        let classes = [
            kind, NSString.self, NSArray.self, NSDictionary.self, NSURL.self, NSData.self, URLResponse.self,
            URLProtectionSpace.self, URLCredential.self,
        ]
        return try NSKeyedUnarchiver.unarchivedObject(ofClasses: classes, from: archive) as? NSObject
    }

    // MISC-24: Apple's, those of the toolchain's module, and those of earlier archives
    @Test("every name is read", arguments: 0..<3) func readNames(way: Int) throws {
        for (name, object) in try Self.objects() {
            let own = String(reflecting: type(of: object))
            let spelt = [name, own, own.replacingOccurrences(of: "URLLoading.", with: "FoundationNetworking.")][way]
            let archive = try Self.archive(object, named: name, as: spelt)
            let read = try Self.read(archive, as: type(of: object))
            // Of challenges each is another.
            if let challenge = read as? URLAuthenticationChallenge {
                let original = try #require(object as? URLAuthenticationChallenge)
                #expect(challenge.protectionSpace == original.protectionSpace)
            } else {
                #expect(read == object, "\(spelt)")
            }
        }
    }

    // MISC-24
    @Test("Apple's names are written, and no others") func writtenNames() throws {
        for (name, object) in try Self.objects() {
            let text = try Self.archive(object)
            #expect(text.contains("<string>\(name)</string>"))
            #expect(!text.contains("<string>URLLoading."), "\(name)")
            #expect(!text.contains("<string>FoundationNetworking."), "\(name)")
        }
    }

    /// A class of a program's own.
    private final class OwnResponse: HTTPURLResponse {}

    @Test("a program's own class keeps its name") func ownClass() throws {
        let response = try #require(OwnResponse(url: Self.url, statusCode: 200, httpVersion: nil, headerFields: nil))
        #expect(response.classForKeyedArchiver.map(ObjectIdentifier.init) == ObjectIdentifier(OwnResponse.self))
    }

    @Test("classes are found by Apple's names") func found() {
        #expect(NSClassFromString("NSHTTPURLResponse") == HTTPURLResponse.self)
        #expect(NSClassFromString("NSURLSessionDataTask") == URLSessionDataTask.self)
        #expect(NSClassFromString("NSMutableURLRequest") == NSMutableURLRequest.self)
        #expect(NSClassFromString("FoundationNetworking.HTTPCookie") == HTTPCookie.self)
    }
}
