import LoadingProtocols
import LoadingSemantics

/// What a parser said about some input, one line an event, with neighbouring body events joined.
struct MultipartTranscript {
    private(set) var lines: [String] = []
    private var body: [UInt8]?

    init(_ parts: [[UInt8]], boundary: String = "b", limits: MultipartLimits = MultipartLimits()) {
        var parser = MultipartParser(boundary: Array(boundary.utf8), limits: limits)
        do throws(MultipartParseError) {
            for part in parts {
                // A block of its own, gone afterwards: an event must not be looked at later than it may.
                let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: part.count, alignment: 1)
                defer { copy.deallocate() }
                copy.copyBytes(from: part)
                var input = UnsafeRawBufferPointer(copy)
                while let event = try parser.next(&input) { add(event) }
                if !input.isEmpty { lines.append("left \(input.count)") }
            }
            while let event = try parser.inputEnded() { add(event) }
        } catch {
            endBody()
            lines.append("error \(error)")
        }
    }

    private mutating func add(_ event: MultipartEvent) {
        switch event {
        case .partHead(let fields):
            lines.append(
                "part "
                    + (0..<fields.count).map { "\(fields.name(at: $0))=\(fields.value(at: $0))" }.joined(separator: "|")
            )
            body = []
        case .body(let bytes):
            if bytes.isEmpty || body == nil { lines.append("bad body event") }
            body?.append(contentsOf: bytes)
        case .partEnd:
            endBody()
            lines.append("part end")
        case .end(let isClosed):
            endBody()
            lines.append(isClosed ? "end" : "cut off")
        }
    }

    private mutating func endBody() {
        if let body, !body.isEmpty { lines.append(String(decoding: body, as: UTF8.self)) }
        body = nil
    }
}
