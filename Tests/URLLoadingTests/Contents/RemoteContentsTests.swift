import Dispatch
import Foundation
import FoundationXML
import TestSupport
import Testing
import URLLoading

/// Foundation's `contentsOf` initializers with URLs that are not file URLs.
@Suite(.leavesNothing) struct RemoteContentsTests {
    private let server: ScriptedServer

    init() throws {
        server = try ScriptedServer.answering { request in
            switch request.path {
            case "/text":
                CannedResponse.bytes([0x67, 0xFC, 0x6E])
                    .with(field: "Content-Type", "text/plain; charset=iso-8859-1").closing()
            case "/list":
                CannedResponse.text("<plist><array><string>a</string></array></plist>").closing()
            case "/table":
                CannedResponse.text("<plist><dict><key>a</key><string>b</string></dict></plist>").closing()
            case "/xml": CannedResponse.text("<a><b/></a>").closing()
            case "/moved": CannedResponse.redirect(to: "/hello").closing()
            case "/hello": CannedResponse.text("hello").closing()
            default: CannedResponse.text("not here", status: 404).closing()
            }
        }
    }

    @Test("every way to load") func everyWayToLoad() throws {
        defer { server.stop() }
        #expect(try Data(contentsOf: server.url("/hello")) == Data("hello".utf8))
        #expect(try Data(contentsOf: server.url("/moved")) == Data("hello".utf8))
        let object: NSData? = NSData(contentsOf: server.url("/hello"))
        #expect(object == NSData(data: Data("hello".utf8)))
        #expect(try NSData(contentsOf: server.url("/hello"), options: []).length == 5)
        #expect(try String(contentsOf: server.url("/hello"), encoding: .utf8) == "hello")
        #expect(try NSString(contentsOf: server.url("/hello"), encoding: String.Encoding.utf8.rawValue) == "hello")
        let list: NSArray? = NSArray(contentsOf: server.url("/list"))
        #expect(list == ["a"])
        let table: NSDictionary? = NSDictionary(contentsOf: server.url("/table"))
        #expect(table == ["a": "b"])
        #expect(try Data(contentsOf: try #require(URL(string: "data:,some%20text"))) == Data("some text".utf8))
    }

    // The toolchain's Foundation reads the local file of that path.
    @Test("a string of a URL is not that of a local file") func textIsNotLocal() throws {
        defer { server.stop() }
        let folder = try TemporaryDirectory()
        let path = folder.path + "/local"
        try "local".write(toFile: path, atomically: true, encoding: .utf8)
        var used = String.Encoding.utf8
        let error = #expect(throws: CocoaError.self) {
            try String(contentsOf: server.url(path), usedEncoding: &used)
        }
        #expect(error?.code == .fileReadUnknown)
        #expect(server.requests.map(\.path) == [path])
    }

    @Test("a string without a given encoding") func textWithoutEncoding() throws {
        defer { server.stop() }
        var used = String.Encoding.utf8
        #expect(try String(contentsOf: server.url("/text"), usedEncoding: &used) == "g\u{FC}n")
        #expect(used == .isoLatin1)
        #expect(try String(contentsOf: server.url("/hello")) == "hello")
    }

    @Test("a string of a file, as before") func textOfFile() throws {
        defer { server.stop() }
        let folder = try TemporaryDirectory()
        let (file, missing) = (folder.path + "/local", folder.path + "/missing")
        try "l\u{F6}cal".write(toFile: file, atomically: true, encoding: .utf16)
        var used = String.Encoding.utf8
        #expect(try String(contentsOf: URL(fileURLWithPath: file), usedEncoding: &used) == "l\u{F6}cal")
        #expect(used == .utf16)
        let url = URL(fileURLWithPath: missing)
        let error = #expect(throws: CocoaError.self) { try String(contentsOf: url) }
        #expect(error?.code == .fileReadNoSuchFile)
        #expect(error?.userInfo[NSURLErrorKey] as? URL == url)
        #expect(error?.userInfo[NSFilePathErrorKey] as? String == missing)
    }

    @Test("the encoding of the response") func encoding() throws {
        defer { server.stop() }
        var used: UInt = 0
        #expect(try NSString(contentsOf: server.url("/text"), usedEncoding: &used) == "g\u{FC}n")
        #expect(used == String.Encoding.isoLatin1.rawValue)
    }

    private final class Elements: NSObject, XMLParserDelegate {
        var names: [String] = []

        func parser(
            _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
            attributes: [String: String]
        ) {
            names.append(name)
        }
    }

    @Test("XMLParser(contentsOf:)") func xml() throws {
        defer { server.stop() }
        let elements = Elements()
        let parser = try #require(XMLParser(contentsOf: server.url("/xml")))
        parser.delegate = elements
        #expect(parser.parse())
        #expect(elements.names == ["a", "b"])
    }

    // There is no response to see a status by.
    @Test("failures") func failures() throws {
        defer { server.stop() }
        let refused = try #require(URL(string: "http://127.0.0.1:1/"))
        let unknown = try #require(URL(string: "unknown:thing"))
        let missing = #expect(throws: CocoaError.self) { try Data(contentsOf: server.url("/missing")) }
        #expect(missing?.code == .fileReadUnknown)
        #expect(missing?.userInfo[NSURLErrorKey] as? URL == server.url("/missing"))
        let failed = #expect(throws: CocoaError.self) { try String(contentsOf: refused, encoding: .utf8) }
        #expect(failed?.code == .fileReadUnknown)
        #expect((failed?.underlying as? URLError)?.code == .cannotConnectToHost)
        // ERR-2: errors are written to logs.
        let secret = try #require(URL(string: "http://joe:secret@127.0.0.1:1/x"))
        let kept = #expect(throws: CocoaError.self) { try Data(contentsOf: secret) }
        #expect(kept?.userInfo[NSURLErrorKey] as? URL == URL(string: "http://127.0.0.1:1/x"))
        #expect(kept.map { !"\($0)".contains("secret") } == true)
        #expect(#expect(throws: CocoaError.self) { try Data(contentsOf: unknown) }?.code == .fileReadUnsupportedScheme)
        let objects: [NSData?] = [NSData(contentsOf: server.url("/missing")), NSData(contentsOf: unknown)]
        #expect(objects == [nil, nil])
    }

    // S-79: blocking does not deadlock
    @Test("within calls of every kind of queue", arguments: [nil, OperationQueue(name: "delegate", width: 1)])
    func withinCalls(queue: OperationQueue?) async throws {
        defer { server.stop() }
        let loaded = EventRecorder<String>()
        let url = server.url("/hello")
        let session = URLSession(configuration: .ephemeral, delegate: nil, delegateQueue: queue)
        for number in 0..<4 {
            session.dataTask(with: url) { _, _, _ in
                loaded.record((try? String(contentsOf: url, encoding: .utf8)) ?? "nothing \(number)")
            }.resume()
        }
        // Those of the shared session, which loads the contents too.
        URLSession.shared.dataTask(with: url) { _, _, _ in
            loaded.record((try? String(contentsOf: url, encoding: .utf8)) ?? "nothing")
        }.resume()
        #expect(try await loaded.waitFor(count: 5) == Array(repeating: "hello", count: 5))
        let onMain = await MainActor.run { try? Data(contentsOf: url) }
        #expect(onMain == Data("hello".utf8))
        session.invalidateAndCancel()
    }
}
