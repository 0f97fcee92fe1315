/// Finds the first delimiter line of a multipart body, and drops the preamble before it (RFC 2046 §5.1.1).
struct MultipartPreamble {
    /// Two hyphens and the boundary. Many cameras include the hyphens in the announced boundary; the first line shows
    /// it.
    private let candidates: [[UInt8]]
    private let capacity: Int
    /// The current line without its end, or the start of a long line.
    private var line: [UInt8] = []
    private var isLong = false

    init(boundary: [UInt8]) {
        let hyphens = [Octet.hyphen, Octet.hyphen]
        candidates = boundary.starts(with: hyphens) ? [hyphens + boundary, boundary] : [hyphens + boundary]
        capacity = MultipartDelimiter.capacity(for: hyphens + boundary)
    }

    /// Reads up to the end of the first delimiter line. Nil if more input is needed.
    mutating func find(in input: inout UnsafeRawBufferPointer) -> (line: [UInt8], isLast: Bool)? {
        while !input.isEmpty {
            let end = input.firstIndex(of: Octet.lineFeed)
            let text = UnsafeRawBufferPointer(rebasing: input[..<(end ?? input.count)])
            let room = min(capacity &- line.count, text.count)
            line.append(contentsOf: text[..<room])
            isLong = isLong || room < text.count
            input.dropPrefix(text.count &+ (end == nil ? 0 : 1))
            if end == nil { return nil }
            let found = delimiter
            line.removeAll(keepingCapacity: true)
            isLong = false
            if let found { return found }
        }
        return nil
    }

    /// Whether the input ended with a last delimiter, so there is no part.
    var endsWithLast: Bool { delimiter?.isLast == true }

    private var delimiter: (line: [UInt8], isLast: Bool)? {
        for candidate in candidates where line.starts(with: candidate) {
            var rest = line.dropFirst(candidate.count)
            if rest.starts(with: [Octet.hyphen, Octet.hyphen]) { return (candidate, true) }
            if rest.last == Octet.carriageReturn { rest.removeLast() }
            if !isLong, rest.allSatisfy(Octet.isWhitespace) { return (candidate, false) }
        }
        return nil
    }
}
