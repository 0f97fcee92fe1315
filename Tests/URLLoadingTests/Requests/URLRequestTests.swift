import Foundation
import Testing

@testable import URLLoading

@Suite struct URLRequestTests {
    let url = URL(string: "https://example.com/path?q=1#f")!

    // MISC-20
    @Test func defaults() {
        let request = URLRequest(url: url)
        #expect(request.url == url)
        #expect(request.cachePolicy == .useProtocolCachePolicy)
        #expect(request.timeoutInterval == 60)
        #expect(request.mainDocumentURL == nil)
        #expect(request.networkServiceType == .default)
        #expect(request.allowsCellularAccess)
        #expect(request.allowsExpensiveNetworkAccess)
        #expect(request.allowsConstrainedNetworkAccess)
        #expect(!request.allowsUltraConstrainedNetworkAccess)
        #expect(!request.assumesHTTP3Capable)
        #expect(request.attribution == .developer)
        #expect(!request.requiresDNSSECValidation)
        #expect(!request.allowsPersistentDNS)
        #expect(request.cookiePartitionIdentifier == nil)
        #expect(request.httpMethod == "GET")
        #expect(request.allHTTPHeaderFields == nil)
        #expect(request.httpBody == nil)
        #expect(request.httpBodyStream == nil)
        #expect(request.httpShouldHandleCookies)
        #expect(!request.httpShouldUsePipelining)
    }

    // C-5, C-7
    @Test func remembersExplicitValues() {
        var session = SessionValues()
        session.timeoutIntervalForRequest = 30
        #expect(URLRequest(url: url).idleTimeout(in: session) == 30)
        #expect(URLRequest(url: url).explicitCachePolicy == nil)
        #expect(URLRequest(url: url, timeoutInterval: 60).idleTimeout(in: session) == 60)
        #expect(URLRequest(url: url, timeoutInterval: 60).explicitCachePolicy == nil)
        #expect(URLRequest(url: url, cachePolicy: .useProtocolCachePolicy).idleTimeout(in: session) == 30)
        // C-6, C-8: as programs write it for streams of events
        for none in [0, -1, -Double.infinity, .nan, .infinity] {
            #expect(URLRequest(url: url, timeoutInterval: none).idleTimeout(in: session) == .infinity)
            (session.timeoutIntervalForRequest, session.timeoutIntervalForResource) = (none, none)
            #expect(URLRequest(url: url).idleTimeout(in: session) == .infinity && session.totalTimeout == .infinity)
            #expect(URLRequest(url: url, timeoutInterval: 5).idleTimeout(in: session) == 5)
        }
        #expect(
            URLRequest(url: url, cachePolicy: .useProtocolCachePolicy).explicitCachePolicy == .useProtocolCachePolicy)
        var request = URLRequest(url: url)
        request.timeoutInterval = 5
        request.cachePolicy = .returnCacheDataElseLoad
        #expect(request.idleTimeout(in: session) == 5)
        #expect(request.explicitCachePolicy == .returnCacheDataElseLoad)
    }

    // MISC-7: many fields are found by a table, which changes keep
    @Test func manyFieldsAreFoundAfterEachChange() {
        var request = URLRequest(url: url)
        var known: [String: String] = [:]
        func check() {
            #expect(request.fields.count == known.count)
            for number in 0..<40 {
                #expect(request.value(forHTTPHeaderField: "x-FIELD-\(number)") == known["X-Field-\(number)"])
            }
        }
        for number in 0..<40 {
            request.setValue("\(number)", forHTTPHeaderField: "X-Field-\(number)")
            known["X-Field-\(number)"] = "\(number)"
        }
        check()
        for number in stride(from: 0, to: 40, by: 3) {
            request.addValue("more", forHTTPHeaderField: "x-field-\(number)")
            known["X-Field-\(number)"] = "\(number),more"
        }
        check()
        // Down to few, and up again.
        for number in 5..<40 {
            request.setValue(nil, forHTTPHeaderField: "x-field-\(number)")
            known["X-Field-\(number)"] = nil
            if number % 8 == 0 { check() }
        }
        for number in 20..<40 {
            request.setValue("new", forHTTPHeaderField: "X-Field-\(number)")
            known["X-Field-\(number)"] = "new"
            if number % 8 == 0 { check() }
        }
        let copy = request
        request.setValue("changed", forHTTPHeaderField: "X-Field-39")
        request.setValue("last", forHTTPHeaderField: "X-Field-19")
        #expect(copy.value(forHTTPHeaderField: "X-Field-39") == "new")
        #expect(copy.value(forHTTPHeaderField: "X-Field-19") == nil)
        #expect(request.value(forHTTPHeaderField: "X-Field-19") == "last")
        request.allHTTPHeaderFields = ["A": "1"]
        #expect(request.value(forHTTPHeaderField: "X-Field-19") == nil)
        #expect(request.value(forHTTPHeaderField: "a") == "1")
    }

    // MISC-7
    @Test func fieldsKeepOrderAndFirstSpelling() {
        var request = URLRequest(url: url)
        request.setValue("1", forHTTPHeaderField: "X-First")
        request.setValue("2", forHTTPHeaderField: "accept")
        request.setValue("3", forHTTPHeaderField: "x-fIRST")
        request.addValue("4", forHTTPHeaderField: "Accept")
        #expect(request.fields.map(\.name) == ["X-First", "accept"])
        #expect(request.fields.map(\.value) == ["3", "2,4"])
        #expect(request.allHTTPHeaderFields == ["X-First": "3", "accept": "2,4"])
        #expect(request.value(forHTTPHeaderField: "ACCEPT") == "2,4")
        request.setValue(nil, forHTTPHeaderField: "X-FIRST")
        #expect(request.allHTTPHeaderFields == ["accept": "2,4"])
        request.allHTTPHeaderFields = ["B": "1", "A": "2"]
        #expect(request.fields.map(\.name) == ["A", "B"])
        request.allHTTPHeaderFields = nil
        #expect(request.allHTTPHeaderFields == nil)
    }

    // Beyond MISC-7, as in swift-corelibs-foundation: nil until fields were set
    @Test func noFieldsAreNilUntilSomeWereSet() throws {
        let fresh = URLRequest(url: url)
        var request = fresh
        request.setValue(nil, forHTTPHeaderField: "A")
        #expect(request.allHTTPHeaderFields == nil)
        request.allHTTPHeaderFields = [:]
        #expect(request.allHTTPHeaderFields == [:])
        #expect(request == fresh)
        #expect(fresh.allHTTPHeaderFields == nil)
        request.allHTTPHeaderFields = nil
        #expect(request.allHTTPHeaderFields == nil)
        request.setValue("1", forHTTPHeaderField: "A")
        request.setValue(nil, forHTTPHeaderField: "A")
        #expect(request.allHTTPHeaderFields == [:])
        let data = try NSKeyedArchiver.archivedData(
            withRootObject: request as NSURLRequest, requiringSecureCoding: true)
        let decoded = try NSKeyedUnarchiver.unarchivedObject(ofClass: NSURLRequest.self, from: data)
        #expect(decoded?.allHTTPHeaderFields == [:])
        let mutable = NSMutableURLRequest(url: url)
        #expect(mutable.allHTTPHeaderFields == nil)
        mutable.allHTTPHeaderFields = [:]
        #expect(mutable.allHTTPHeaderFields == [:])
    }

    // MISC-7: a field is not lost that is set by way of the dictionary
    @Test("the fields of a request with a method or a body") func fieldsWithAMethod() {
        let changes: [@Sendable (inout URLRequest) -> Void] = [
            { $0.httpMethod = "POST" }, { $0.httpBody = Data("x".utf8) },
            { $0.httpBodyStream = InputStream(data: Data()) },
        ]
        for change in changes {
            var request = URLRequest(url: url)
            request.allHTTPHeaderFields?["Authorization"] = "lost"
            #expect(request.allHTTPHeaderFields == nil)
            change(&request)
            request.allHTTPHeaderFields?["Authorization"] = "kept"
            #expect(request.allHTTPHeaderFields == ["Authorization": "kept"])
        }
        let mutable = NSMutableURLRequest(url: url)
        mutable.httpMethod = "POST"
        #expect(mutable.allHTTPHeaderFields == [:])
    }

    // Beyond MISC-20, as in swift-corelibs-foundation: a new request resolves a relative URL; one that is set later is
    // kept
    @Test func relativeURLs() throws {
        let relative = try #require(URL(string: "/get", relativeTo: URL(string: "http://example.org/a")))
        var request = URLRequest(url: relative)
        #expect(request.url?.baseURL == nil)
        #expect(request.url?.relativeString == "http://example.org/get")
        #expect(URLRequest(url: relative, cachePolicy: .reloadIgnoringLocalCacheData).url?.baseURL == nil)
        #expect(URLRequest(url: relative, timeoutInterval: 1).url?.baseURL == nil)
        #expect(NSURLRequest(url: relative).url?.baseURL == nil)
        #expect(NSMutableURLRequest(url: relative).url?.relativeString == "http://example.org/get")
        request.url = relative
        #expect(request.url?.relativeString == "/get")
        #expect(request.url?.baseURL?.relativeString == "http://example.org/a")
        #expect(request.url?.absoluteString == "http://example.org/get")
    }

    // Law 2: nothing a caller puts in a field changes the message around it.
    @Test(arguments: ["a\nb", "a\r\nb", "a\rb", "a\0b", "a\r\n", "\n"])
    func refusesValuesThatBreakTheMessage(_ value: String) {
        var request = URLRequest(url: url)
        request.setValue("before", forHTTPHeaderField: "X")
        request.setValue(value, forHTTPHeaderField: "X")
        request.addValue(value, forHTTPHeaderField: "X")
        #expect(request.allHTTPHeaderFields == ["X": "before"])
    }

    @Test(arguments: ["", "a b", "a:", "a\n", "ä", "a\0"])
    func refusesNamesThatAreNoTokens(_ name: String) {
        var request = URLRequest(url: url)
        request.setValue("v", forHTTPHeaderField: name)
        request.addValue("v", forHTTPHeaderField: name)
        #expect(request.allHTTPHeaderFields == nil)
    }

    // RFC 9112 §5.2: a fold is accepted and sent as one space.
    @Test func foldedValuesAreSentOnOneLine() {
        var request = URLRequest(url: url)
        request.setValue("a\r\n\tb \r\n c", forHTTPHeaderField: "X")
        #expect(request.value(forHTTPHeaderField: "X") == "a\r\n\tb \r\n c")
        #expect(request.sentFields == ["X: a b  c"])
    }

    // MISC-22
    @Test(arguments: [
        ("get", "GET"), ("Post", "POST"), ("delete", "DELETE"), ("connect", "CONNECT"), ("patch", "patch"),
        ("Trace", "Trace"), ("options", "options"), ("x-Custom", "x-Custom"),
    ])
    func methodsKeepTheirCaseUnlessKnown(_ set: String, _ expected: String) {
        var request = URLRequest(url: url)
        request.httpMethod = set
        #expect(request.httpMethod == expected)
        request.httpMethod = nil
        #expect(request.httpMethod == "GET")
    }

    // MISC-20
    @Test func bodyIsDataOrStream() {
        var request = URLRequest(url: url)
        let stream = InputStream(data: Data([1]))
        request.httpBody = Data([2])
        request.httpBodyStream = stream
        #expect(request.httpBody == nil)
        #expect(request.httpBodyStream === stream)
        request.httpBody = Data([3])
        #expect(request.httpBody == Data([3]))
        #expect(request.httpBodyStream == nil)
        request.httpBody = nil
        #expect(request.httpBody == nil)
    }

    // MISC-21
    @Test func copiesAreIndependent() {
        var first = URLRequest(url: url)
        first.setValue("1", forHTTPHeaderField: "A")
        var second = first
        #expect(first == second)
        #expect(first.hashValue == second.hashValue)
        second.setValue("2", forHTTPHeaderField: "A")
        #expect(first.value(forHTTPHeaderField: "A") == "1")
        #expect(first != second)
    }

    // MISC-21
    @Test("different requests have different hashes") func hashes() throws {
        let changes: [(inout URLRequest) -> Void] = [
            { $0.url = URL(string: "http://example.org/other") },
            { $0.httpMethod = "PUT" },
            { $0.mainDocumentURL = URL(string: "http://example.org/document") },
            { $0.httpBodyStream = InputStream(data: Data("a".utf8)) },
            { $0.httpBodyStream = InputStream(data: Data("a".utf8)) },
        ]
        let requests =
            [URLRequest(url: url)]
            + changes.map { change in
                var request = URLRequest(url: url)
                change(&request)
                return request
            }
        // Each process has hashes of its own, so that two of these are equal by chance once in 2^60 runs.
        #expect(Set(requests.map(\.hashValue)).count == requests.count)
        #expect(Set(requests.map { NSMutableURLRequest($0).hash }).count == requests.count)
    }

    @Test func equalityIgnoresOrderAndCaseOfFields() {
        var first = URLRequest(url: url)
        first.setValue("1", forHTTPHeaderField: "A")
        first.setValue("2", forHTTPHeaderField: "B")
        var second = URLRequest(url: url, timeoutInterval: 60)
        second.setValue("2", forHTTPHeaderField: "b")
        second.setValue("1", forHTTPHeaderField: "a")
        #expect(first == second)
        #expect(Set([first, second]).count == 1)
        second.httpShouldHandleCookies = false
        #expect(first != second)
    }

    @Test func describesItselfByAddress() {
        #expect(String(describing: URLRequest(url: url)) == "https://example.com/path?q=1#f")
        #expect(
            Mirror(reflecting: URLRequest(url: url)).children.compactMap(\.label).prefix(3) == [
                "url", "cachePolicy", "timeoutInterval",
            ])
    }
}

extension URLRequest {
    /// The fields as sent.
    fileprivate var sentFields: [String] { sentFieldLines(of: self) }
}
