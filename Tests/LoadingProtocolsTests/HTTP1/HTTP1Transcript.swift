import LoadingProtocols
import LoadingSemantics

/// What a parser said about some input, one line an event, with neighbouring body events joined.
struct HTTP1Transcript {
    private(set) var lines: [String] = []
    private var body: [UInt8] = []

    /// Feeds the parts one after the other, then ends the input unless the response has ended before.
    init(_ parts: [[UInt8]], to kind: HTTP1RequestKind = .other, limits: HTTP1Limits = HTTP1Limits()) {
        var parser = HTTP1ResponseParser(limits: limits)
        parser.begin(kind)
        var isOver = false
        var leftover: [UInt8] = []
        do throws(HTTP1ParseError) {
            for part in parts {
                if isOver {
                    leftover += part
                    continue
                }
                try part.withUnsafeBufferPointer { octets throws(HTTP1ParseError) in
                    var input = UnsafeRawBufferPointer(octets)
                    while let event = try parser.next(&input) { isOver = add(event) || isOver }
                    leftover += input
                }
            }
            if !isOver, let event = try parser.inputEnded() { _ = add(event) }
        } catch {
            endBody()
            lines.append("error \(error)")
        }
        endBody()
        if !leftover.isEmpty { lines.append("left \(String(decoding: leftover, as: UTF8.self))") }
    }

    /// True if the exchange is over.
    private mutating func add(_ event: HTTP1ResponseEvent) -> Bool {
        if case .body(let bytes) = event {
            body += bytes
            if bytes.isEmpty { lines.append("empty body event") }
            return false
        }
        endBody()
        switch event {
        case .informational(let head): lines.append("interim \(Self.line(head))")
        case .head(let head, let length): lines.append("\(Self.line(head)) > \(length)")
        case .switchedProtocol(let head): lines.append("switch \(Self.line(head))")
        case .end(let end):
            let trailers = end.trailers.map { " | " + Self.line($0) } ?? ""
            lines.append((end.mayReuse ? "end, reuse" : "end, close") + trailers)
        case .body: break
        }
        switch event {
        case .end, .switchedProtocol: return true
        default: return false
        }
    }

    private mutating func endBody() {
        if !body.isEmpty { lines.append("body \(String(decoding: body, as: UTF8.self))") }
        body = []
    }

    private static func line(_ head: ResponseHead) -> String {
        let start =
            "\(head.version == .http10 ? "1.0" : "1.1") \(head.status)" + (head.reason.isEmpty ? "" : " \(head.reason)")
        return head.fields.isEmpty ? start : start + " | " + line(head.fields)
    }

    private static func line(_ fields: HTTPFields) -> String {
        (0..<fields.count).map { "\(fields.name(at: $0))=\(fields.value(at: $0))" }.joined(separator: " | ")
    }
}
