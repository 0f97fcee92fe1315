/// Reads the replies on a control connection (RFC 959 §4.2). Owns no socket and no clock.
///
/// Only the last line of a multi-line reply is kept, so a long welcome takes no memory.
///
/// A line ends with CRLF or LF. A CR inside a line makes the reply invalid, because another reader may see two lines.
/// Several CRs at the end of a line count as one: some servers send a welcome file that already has CRLF.
package struct FTPReplyParser: Sendable {
    private let limits: FTPLimits
    private var line: [UInt8] = []
    /// The code of a reply of several lines that has begun, and how many there were.
    private var begun: (code: Int, lines: Int)?
    private var failure: FTPFailure?

    package init(limits: FTPLimits = FTPLimits()) { self.limits = limits }

    /// The next reply from the front of `input`; nil when all of it is used up and more is needed.
    package mutating func next(_ input: inout UnsafeRawBufferPointer) throws(FTPFailure) -> FTPReply? {
        if let failure { throw failure }
        while !input.isEmpty {
            let end = input.firstIndex(of: Octet.lineFeed)
            let piece = input[..<(end ?? input.count)]
            guard line.count + piece.count <= limits.maximumLineLength else { throw fail(.lineTooLong) }
            line += piece
            input = UnsafeRawBufferPointer(rebasing: input[(end.map { $0 + 1 } ?? input.count)...])
            guard end != nil else { return nil }
            while line.last == Octet.carriageReturn { line.removeLast() }
            if line.contains(Octet.carriageReturn) { throw fail(.malformedReply) }
            defer { line.removeAll(keepingCapacity: true) }
            if let reply = try take() { return reply }
        }
        return nil
    }

    /// The reply that the line ends, if it ends one.
    private mutating func take() throws(FTPFailure) -> FTPReply? {
        let code = Self.code(of: line)
        let mark = line.dropFirst(3).first
        if let begun {
            guard begun.lines < limits.maximumLineCount else { throw fail(.tooManyLines) }
            self.begun = (begun.code, begun.lines + 1)
            guard code == begun.code, mark != Octet.hyphen else { return nil }
            self.begun = nil
            return FTPReply(code: begun.code, text: Array(line.dropFirst(4)))
        }
        guard let code, mark == nil || mark == Octet.space || mark == Octet.hyphen else {
            throw fail(.malformedReply)
        }
        if mark == Octet.hyphen {
            begun = (code, 1)
            return nil
        }
        return FTPReply(code: code, text: Array(line.dropFirst(4)))
    }

    /// Three digits, the first from 1 to 5, with a space, a hyphen or nothing behind.
    private static func code(of line: [UInt8]) -> Int? {
        guard line.count >= 3, (0x31...0x35).contains(line[0]), line[1] &- 0x30 < 10, line[2] &- 0x30 < 10 else {
            return nil
        }
        if line.count > 3, line[3] != Octet.space, line[3] != Octet.hyphen { return nil }
        return Int(line[0] - 0x30) * 100 + Int(line[1] - 0x30) * 10 + Int(line[2] - 0x30)
    }

    private mutating func fail(_ failure: FTPFailure) -> FTPFailure {
        self.failure = failure
        line = []
        return failure
    }
}
