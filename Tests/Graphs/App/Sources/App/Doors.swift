import Foundation
import FoundationXML

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

private final class Elements: NSObject, XMLParserDelegate {
    var names: [String] = []

    func parser(
        _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
        attributes: [String: String]
    ) {
        names.append(name)
    }
}

/// What Foundation's own ways to load a URL come to.
func doors(_ base: URL) -> [(String, String)] {
    let (text, latin) = (base.appendingPathComponent("text"), base.appendingPathComponent("latin"))
    let (list, table) = (base.appendingPathComponent("list"), base.appendingPathComponent("table"))
    let missing = base.appendingPathComponent("missing")
    // A server must not choose which file of this machine is read.
    let local = base.appendingPathComponent("etc/hostname")

    func outcome<Value>(_ value: () throws -> Value) -> String {
        do { return "\(try value())" } catch let error as CocoaError {
            return "CocoaError \(error.code.rawValue)"
        } catch {
            return "\(type(of: error))"
        }
    }
    func encoded(_ load: (inout String.Encoding) throws -> String) -> String {
        var encoding = String.Encoding.utf8
        return outcome { try load(&encoding) + " \(encoding.rawValue)" }
    }
    func elements() -> String {
        let elements = Elements()
        let parser = XMLParser(contentsOf: base.appendingPathComponent("xml"))
        parser?.delegate = elements
        return "\(parser?.parse() ?? false) \(elements.names)"
    }
    func archive(_ object: NSObject & NSSecureCoding, as kind: (NSObject & NSSecureCoding).Type) -> String {
        outcome {
            let data = try NSKeyedArchiver.archivedData(withRootObject: object, requiringSecureCoding: true)
            let copy = try NSKeyedUnarchiver.unarchivedObject(ofClasses: [kind], from: data)
            let list = try PropertyListSerialization.propertyList(from: data, format: nil)
            let objects = (list as? [String: Any])?["$objects"] as? [Any] ?? []
            let names = objects.compactMap { ($0 as? [String: Any])?["$classname"] as? String }
            return
                "\(names.first { $0.contains("URL") && $0 != "NSURL" } ?? "") \(copy.map { type(of: $0) == kind } ?? false)"
        }
    }
    let response = HTTPURLResponse(url: base, statusCode: 204, httpVersion: nil, headerFields: nil)
    let credential = URLCredential(user: "u", password: "p", persistence: .forSession)

    return [
        ("Data(contentsOf:)", outcome { try String(decoding: Data(contentsOf: text), as: UTF8.self) }),
        ("Data(contentsOf:) missing", outcome { try Data(contentsOf: missing).count }),
        ("Data(contentsOf:) data:", outcome { try Data(contentsOf: URL(string: "data:,abc") ?? base).count }),
        ("NSData(contentsOf:)", "\(NSData(contentsOf: text)?.length ?? -1)"),
        ("NSData(contentsOf:) missing", "\(NSData(contentsOf: missing)?.length ?? -1)"),
        ("NSData(contentsOf:options:)", outcome { try NSData(contentsOf: text, options: []).length }),
        ("String(contentsOf:encoding:)", outcome { try String(contentsOf: text, encoding: .utf8) }),
        ("String(contentsOf:usedEncoding:)", encoded { try String(contentsOf: latin, usedEncoding: &$0) }),
        ("String(contentsOf:)", outcome { try String(contentsOf: text) }),
        ("String(contentsOf:) local", outcome { try String(contentsOf: local) }),
        ("NSString(contentsOf:encoding:)", outcome { try NSString(contentsOf: text, encoding: 4) }),
        ("NSArray(contentsOf:)", "\(NSArray(contentsOf: list)?.count ?? -1)"),
        ("NSDictionary(contentsOf:)", "\(NSDictionary(contentsOf: table)?["a"] ?? "")"),
        ("XMLParser(contentsOf:)", elements()),
        (
            "XMLDocument(contentsOf:)",
            outcome { try XMLDocument(contentsOf: base.appendingPathComponent("xml")).rootElement()?.name ?? "" }
        ),
        (
            "PropertyListDecoder",
            outcome { try PropertyListDecoder().decode([String: String].self, from: Data(contentsOf: table)) }
        ),
        ("NSKeyedArchiver response", response.map { archive($0, as: HTTPURLResponse.self) } ?? ""),
        ("NSKeyedArchiver credential", archive(credential, as: URLCredential.self)),
    ]
}
