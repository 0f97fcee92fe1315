import Foundation

/// HTTP archives, by the text of their specification, version 1.2: which members an object has to have, which it may
/// have, and of what type they are. Everything that is wrong is reported with its path.
struct HARSchema {
    private(set) var faults: [String] = []

    static func faults(in data: Data) -> [String] {
        var schema = HARSchema()
        guard let root = try? JSONSerialization.jsonObject(with: data) else { return ["no JSON"] }
        schema.check(root, "", required: ["log": log])
        return schema.faults
    }

    private typealias Check = @Sendable (inout HARSchema, Any, String) -> Void

    // MARK: Objects

    private static let log: Check = { schema, value, place in
        schema.check(
            value, place,
            required: ["version": exactly("1.2"), "creator": program, "entries": list(entry)],
            optional: ["browser": program, "pages": list { _, _, _ in }, "comment": text])
    }

    private static let program: Check = { schema, value, place in
        schema.check(value, place, required: ["name": filled, "version": text], optional: ["comment": text])
    }

    private static let entry: Check = { schema, value, place in
        schema.check(
            value, place,
            required: [
                "startedDateTime": date, "time": nonNegative, "request": request, "response": response, "cache": cache,
                "timings": timings,
            ],
            optional: ["pageref": text, "serverIPAddress": address, "connection": text, "comment": text])
        schema.checkTime(of: value, place)
    }

    private static let request: Check = { schema, value, place in
        schema.check(
            value, place,
            required: [
                "method": filled, "url": url, "httpVersion": version, "cookies": list(cookie), "headers": list(pair),
                "queryString": list(pair), "headersSize": size, "bodySize": size,
            ],
            optional: ["postData": postData, "comment": text])
    }

    private static let response: Check = { schema, value, place in
        schema.check(
            value, place,
            required: [
                "status": integer, "statusText": text, "httpVersion": version, "cookies": list(cookie),
                "headers": list(pair), "content": content, "redirectURL": text, "headersSize": size, "bodySize": size,
            ],
            optional: ["comment": text])
    }

    private static let cookie: Check = { schema, value, place in
        schema.check(
            value, place, required: ["name": text, "value": text],
            optional: [
                "path": text, "domain": text, "expires": date, "httpOnly": boolean, "secure": boolean, "comment": text,
            ])
    }

    private static let pair: Check = { schema, value, place in
        schema.check(value, place, required: ["name": text, "value": text], optional: ["comment": text])
    }

    private static let postData: Check = { schema, value, place in
        schema.check(
            value, place, required: ["mimeType": text], optional: ["params": list(pair), "text": text, "comment": text])
        let members = (value as? [String: Any])?.keys.filter { $0 == "params" || $0 == "text" } ?? []
        if members.count != 1 { schema.faults.append("\(place): either params or text") }
    }

    private static let content: Check = { schema, value, place in
        schema.check(
            value, place, required: ["size": nonNegative, "mimeType": filled],
            optional: ["compression": nonNegative, "text": text, "encoding": exactly("base64"), "comment": text])
    }

    private static let cache: Check = { schema, value, place in
        schema.check(value, place, optional: ["beforeRequest": text, "afterRequest": text, "comment": text])
    }

    private static let timings: Check = { schema, value, place in
        schema.check(
            value, place, required: ["send": nonNegative, "wait": nonNegative, "receive": nonNegative],
            optional: ["blocked": phase, "dns": phase, "connect": phase, "ssl": phase, "comment": text])
    }

    /// The time of an entry is the sum of its phases; `ssl` is a part of `connect`.
    private mutating func checkTime(of value: Any, _ place: String) {
        guard let entry = value as? [String: Any], let time = entry["time"] as? Double,
            let timings = entry["timings"] as? [String: Any]
        else { return }
        let sum = timings.filter { $0.key != "ssl" }.compactMap { $0.value as? Double }.filter { $0 > 0 }.reduce(0, +)
        if abs(sum - time) > 0.01 { faults.append("\(place)/time: \(time) is not the sum \(sum)") }
    }

    // MARK: Values

    private static let text: Check = { $0.require($1 is String, $2, "a text") }
    private static let filled: Check = { $0.require(($1 as? String)?.isEmpty == false, $2, "a text that is not empty") }
    private static let boolean: Check = { $0.require($1 is Bool, $2, "a boolean") }
    private static let integer: Check = { $0.require($1 is Int, $2, "an integer") }
    private static let nonNegative: Check = { $0.require(number($1).map { $0 >= 0 } == true, $2, "a number from 0 on") }
    /// −1 for what is not known.
    private static let size: Check = { $0.require(($1 as? Int).map { $0 >= -1 } == true, $2, "a size, or -1") }
    /// −1 for what did not take place.
    private static let phase: Check = {
        $0.require(number($1).map { $0 >= 0 || $0 == -1 } == true, $2, "a time, or -1")
    }
    private static let version: Check = {
        $0.require(
            ["HTTP/1.0", "HTTP/1.1", "HTTP/2", "HTTP/3", "unknown"].contains($1 as? String ?? ""), $2,
            "a version of HTTP")
    }
    /// ISO 8601, with a time zone.
    private static let date: Check = {
        let pattern = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)/
        $0.require(($1 as? String)?.wholeMatch(of: pattern) != nil, $2, "a date of ISO 8601")
    }
    /// RFC 3986, absolute and without a fragment.
    private static let url: Check = {
        let pattern = /[A-Za-z][A-Za-z0-9+.\-]*:([A-Za-z0-9\-._~:\/?@!$&'()*+,;=]|\[[0-9A-Fa-f:.]+\]|%[0-9A-Fa-f]{2})*/
        $0.require(($1 as? String)?.wholeMatch(of: pattern) != nil, $2, "an absolute URL")
    }
    private static let address: Check = {
        let pattern = /[0-9.]+|[0-9A-Fa-f:.%a-z]+/
        $0.require(($1 as? String)?.wholeMatch(of: pattern) != nil, $2, "an address")
    }

    private static func number(_ value: Any) -> Double? { value as? Double ?? (value as? Int).map(Double.init) }

    private static func exactly(_ text: String) -> Check { { $0.require($1 as? String == text, $2, text) } }

    private static func list(_ element: @escaping Check) -> Check {
        { schema, value, place in
            guard let list = value as? [Any] else { return schema.require(false, place, "a list") }
            for (index, value) in list.enumerated() { element(&schema, value, "\(place)/\(index)") }
        }
    }

    private mutating func require(_ isRight: Bool, _ place: String, _ what: String) {
        if !isRight { faults.append("\(place): not \(what)") }
    }

    private mutating func check(
        _ value: Any, _ place: String, required: [String: Check] = [:], optional: [String: Check] = [:]
    ) {
        guard let object = value as? [String: Any] else { return require(false, place, "an object") }
        for name in required.keys where object[name] == nil { faults.append("\(place)/\(name): missing") }
        for (name, value) in object.sorted(by: { $0.key < $1.key }) {
            if let check = required[name] ?? optional[name] {
                check(&self, value, "\(place)/\(name)")
            } else if !name.hasPrefix("_") {
                // A name of one's own begins with an underscore.
                faults.append("\(place)/\(name): unknown")
            }
        }
    }
}
