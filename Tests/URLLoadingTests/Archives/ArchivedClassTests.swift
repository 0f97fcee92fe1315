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
    private final class OwnResponse: HTTPURLResponse, @unchecked Sendable {}

    @Test("a program's own class keeps its name") func ownClass() throws {
        let response = try #require(OwnResponse(url: Self.url, statusCode: 200, httpVersion: nil, headerFields: nil))
        #expect(response.classForKeyedArchiver.map(ObjectIdentifier.init) == ObjectIdentifier(OwnResponse.self))
    }

    // MARK: The toolchain's module

    /// An archive with one object, of a class by that name, in which the values are written as `write` does it.
    private static func archive(_ name: String, _ write: @escaping (NSCoder) -> Void) throws -> Data {
        try archive(ArchiveWriter(write), named: String(reflecting: ArchiveWriter.self), as: name)
    }

    private static func writeResponse(_ coder: NSCoder) {
        coder.encode(url as NSURL, forKey: "NS.url")
        coder.encode("text/html" as NSString, forKey: "NS.mimeType")
        coder.encode(12, forKey: "NS.expectedContentLength")
        coder.encode("utf-8" as NSString, forKey: "NS.textEncodingName")
        coder.encode("name.html" as NSString, forKey: "NS.suggestedFilename")
    }

    // MISC-24
    @Test("a response that the toolchain's module wrote") func toolchainResponse() throws {
        let archive = try Self.archive("NSURLResponse", Self.writeResponse)
        let response = try #require(Self.read(archive, as: URLResponse.self) as? URLResponse)
        #expect(response.url == Self.url)
        #expect(response.mimeType == "text/html")
        #expect(response.expectedContentLength == 12)
        #expect(response.textEncodingName == "utf-8")
        #expect(response.suggestedFilename == "name.html")
    }

    // MISC-24
    @Test("an HTTP response that the toolchain's module wrote") func toolchainHTTPResponse() throws {
        let fields = ["Content-Type": "text/html; charset=utf-8", "Content-Length": "12", "X-A": "b"]
        let archive = try Self.archive("NSHTTPURLResponse") { coder in
            Self.writeResponse(coder)
            coder.encode(404, forKey: "NS.statusCode")
            coder.encode(fields as NSDictionary, forKey: "NS.allHeaderFields")
        }
        let response = try #require(Self.read(archive, as: HTTPURLResponse.self) as? HTTPURLResponse)
        #expect(response.url == Self.url)
        #expect(response.statusCode == 404)
        #expect(response.allHeaderFields as? [String: String] == fields)
        #expect(response.expectedContentLength == 12)
        #expect(response.mimeType == "text/html")
        #expect(response.suggestedFilename == "name.html")
    }

    // MISC-24
    @Test("requests that the toolchain's module wrote", arguments: [NSURLRequest.self, NSMutableURLRequest.self])
    func toolchainRequest(kind: NSURLRequest.Type) throws {
        let archive = try Self.archive("FoundationNetworking.\(kind)") { coder in
            coder.encode(Self.url as NSURL, forKey: "NS.url")
            coder.encode(["X-A": "b"] as NSDictionary, forKey: "NS._allHTTPHeaderFields")
            coder.encode(Self.url as NSURL, forKey: "NS.mainDocumentURL")
            coder.encode("POST" as NSString, forKey: "NS.httpMethod")
            coder.encode(NSNumber(value: 1), forKey: "NS._cachePolicy")
            coder.encode(NSNumber(value: 7.0), forKey: "NS._timeoutInterval")
            Array("body".utf8).withUnsafeBufferPointer {
                coder.encodeBytes($0.baseAddress, length: $0.count, forKey: "NS.httpBody")
            }
            coder.encode(NSNumber(value: 0), forKey: "NS._networkServiceType")
            coder.encode(NSNumber(value: false), forKey: "NS._allowsCellularAccess")
            coder.encode(NSNumber(value: false), forKey: "NS._httpShouldHandleCookies")
            coder.encode(NSNumber(value: true), forKey: "NS._httpShouldUsePipelining")
        }
        var request = URLRequest(url: Self.url, cachePolicy: .reloadIgnoringLocalCacheData, timeoutInterval: 7)
        request.mainDocumentURL = Self.url
        request.httpMethod = "POST"
        request.setValue("b", forHTTPHeaderField: "X-A")
        request.httpBody = Data("body".utf8)
        request.allowsCellularAccess = false
        request.httpShouldHandleCookies = false
        request.httpShouldUsePipelining = true
        let read = try #require(Self.read(archive, as: kind) as? NSURLRequest)
        #expect(type(of: read) == kind)
        #expect(read as URLRequest == request)
    }

    // MISC-24
    @Test("a credential that the toolchain's module wrote") func toolchainCredential() throws {
        let archive = try Self.archive("NSURLCredential") { coder in
            coder.encode("u" as NSString, forKey: "NS._user")
            coder.encode("p" as NSString, forKey: "NS._password")
            coder.encode(NSNumber(value: 1), forKey: "NS._persistence")
        }
        #expect(
            try Self.read(archive, as: URLCredential.self)
                == URLCredential(user: "u", password: "p", persistence: .forSession))
    }

    // MISC-24: nothing, and not an object without values
    @Test(
        "archives that cannot be read",
        arguments: [
            "NSURLResponse", "NSHTTPURLResponse", "NSCachedURLResponse", "NSURLRequest", "NSMutableURLRequest",
            "NSURLProtectionSpace", "NSURLCredential", "NSURLAuthenticationChallenge",
        ])
    func unreadable(name: String) throws {
        let found = NSClassFromString(name) as? any (NSObject & NSSecureCoding).Type
        let kind = try #require(found)
        let other = try Self.archive(name) { $0.encode("x" as NSString, forKey: "$0") }
        #expect((try? Self.read(other, as: kind)) == nil)
    }

    // MISC-24: its classes have the names, so that ours keep their own
    @Test("a process that has the toolchain's module too") func bothModules() async {
        await #expect(processExitsWith: .success) {
            try #require(dlopen("libFoundationNetworking.so", RTLD_NOW | RTLD_GLOBAL) != nil)
            for (_, object) in try Self.objects() {
                let text = try Self.archive(object)
                #expect(text.contains("<string>\(String(reflecting: type(of: object)))</string>"))
                #expect(try Self.read(Data(text.utf8), as: type(of: object)).map { type(of: $0) } == type(of: object))
            }
        }
    }

    @Test("classes are found by Apple's names") func found() {
        #expect(NSClassFromString("NSHTTPURLResponse") == HTTPURLResponse.self)
        #expect(NSClassFromString("NSURLSessionDataTask") == URLSessionDataTask.self)
        #expect(NSClassFromString("NSMutableURLRequest") == NSMutableURLRequest.self)
        #expect(NSClassFromString("FoundationNetworking.HTTPCookie") == HTTPCookie.self)
    }
}

/// Encodes with a closure. Not nested in another type, because Foundation's archiver needs a class name.
final class ArchiveWriter: NSObject, NSSecureCoding {
    static let supportsSecureCoding = true
    private let write: (NSCoder) -> Void

    init(_ write: @escaping (NSCoder) -> Void) { self.write = write }
    init?(coder: NSCoder) { nil }
    func encode(with coder: NSCoder) { write(coder) }
}
