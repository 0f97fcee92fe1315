import LoadingProtocols
import LoadingSemantics

/// One way for a parser to get a connection's bytes, and a digest of all it said about them.
///
/// On the way it holds the parser to its promises: nil only when the input is used up, progress with each event, no
/// more body than announced, positions inside their block, an error that stays.
struct HTTP1Run {
    enum Cutting {
        case nowhere
        case everywhere
        case anywhere(UInt64)
        /// As `anywhere`, with body bytes taken past the parser whenever it allows that.
        case besideTheParser(UInt64)
    }

    private(set) var digest: UInt64 = 0
    private var parser: HTTP1ResponseParser
    private let kind: HTTP1RequestKind
    private var random: UInt64
    /// What is left of an announced body.
    private var announced: Int64?
    private var bodyDigest: UInt64 = 0
    private var responseCount = 0

    init(_ bytes: UnsafeRawBufferPointer, to kind: HTTP1RequestKind, limits: HTTP1Limits, cutting: Cutting) {
        parser = HTTP1ResponseParser(limits: limits)
        self.kind = kind
        switch cutting {
        case .nowhere, .everywhere: random = 0
        case .anywhere(let seed), .besideTheParser(let seed): random = seed | 1
        }
        parser.begin(kind)
        do throws(HTTP1ParseError) {
            var start = 0
            while start < bytes.count, !isOver {
                if case .besideTheParser = cutting, parser.directBodyCapacity > 0 {
                    start += takeDirectly(UnsafeRawBufferPointer(rebasing: bytes[start...]))
                    continue
                }
                let count: Int
                switch cutting {
                case .nowhere: count = bytes.count
                case .everywhere: count = 1
                case .anywhere, .besideTheParser: count = 1 + Int(truncatingIfNeeded: next() % 32)
                }
                let end = min(start + count, bytes.count)
                try feed(UnsafeRawBufferPointer(rebasing: bytes[start..<end]))
                start = end
            }
            if !isOver, let event = try parser.inputEnded() { add(event) }
        } catch {
            endBody()
            mix("\(error)".hashOfOctets)
            do {
                _ = try parser.inputEnded()
                preconditionFailure("an error was forgotten")
            } catch let again {
                precondition(again == error, "an error turned into another")
            }
        }
    }

    /// Enough of them: what follows adds nothing new.
    private var isOver: Bool { responseCount == 4 }

    /// Gives the parser a copy of its own, so that the address sanitizer sees a read outside of it.
    private mutating func feed(_ bytes: UnsafeRawBufferPointer) throws(HTTP1ParseError) {
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 1)
        defer { copy.deallocate() }
        copy.copyMemory(from: bytes)
        var input = UnsafeRawBufferPointer(copy)
        var idleSteps = 0
        while !isOver {
            let before = input.count
            guard let event = try parser.next(&input) else {
                precondition(input.isEmpty, "input was left although more was asked for")
                return
            }
            // A head whose last CR came before, and its end: no more than two events need no input of their own.
            idleSteps = input.count == before ? idleSteps + 1 : 0
            precondition(idleSteps < 3, "no progress")
            add(event)
        }
    }

    private mutating func takeDirectly(_ bytes: UnsafeRawBufferPointer) -> Int {
        let room = min(parser.directBodyCapacity, bytes.count)
        let count = min(room, 1 + Int(truncatingIfNeeded: next() % 32))
        let event = parser.tookDirectBody(count)
        add(.body(UnsafeRawBufferPointer(rebasing: bytes[..<count])))
        // The parser reports the end at once here, and with the next call elsewhere.
        if let event { add(event) }
        return count
    }

    private mutating func add(_ event: HTTP1ResponseEvent) {
        if case .body(let bytes) = event {
            precondition(!bytes.isEmpty, "an empty body event")
            for octet in bytes { bodyDigest = (bodyDigest ^ UInt64(octet) &+ 1) &* 0x100_0000_01B3 }
            if let left = announced {
                precondition(Int64(bytes.count) <= left, "more body than announced")
                announced = left - Int64(bytes.count)
            }
            return
        }
        endBody()
        switch event {
        case .informational(let head):
            mix(1)
            mix(head)
        case .head(let head, let length):
            mix(2)
            mix(head)
            switch length {
            case .none: announced = 0
            case .known(let count): announced = count
            case .chunked, .untilClose: announced = nil
            }
            mix(UInt64(bitPattern: announced ?? -1))
        case .end(let end):
            mix(end.mayReuse ? 3 : 4)
            if let trailers = end.trailers { mix(trailers) }
            precondition(announced == nil || announced == 0, "an end before the announced end")
            begin()
        case .switchedProtocol(let head):
            mix(5)
            mix(head)
            begin()
        case .body:
            break
        }
    }

    /// Reads what follows as the next response, as if it had been asked for.
    private mutating func begin() {
        announced = nil
        responseCount += 1
        parser.begin(kind)
    }

    private mutating func endBody() {
        mix(bodyDigest)
        bodyDigest = 0
    }

    private mutating func mix(_ head: ResponseHead) {
        precondition((100...999).contains(head.status) && head.version != .http2)
        mix(UInt64(head.status))
        mix(head.version == .http10 ? 0 : 1)
        mix(UInt64(head.byteCount))
        mix(head.reason.hashOfOctets)
        mix(head.fields)
    }

    private mutating func mix(_ fields: HTTPFields) {
        for position in fields.positions {
            precondition(position.nameLength > 0, "a field without a name")
            for (start, length) in [
                (position.nameStart, position.nameLength), (position.valueStart, position.valueLength),
            ] {
                precondition(Int(start) + Int(length) <= fields.bytes.count, "a position outside the block")
                mix(UInt64(length))
                for octet in fields.bytes[Int(start)..<(Int(start) + Int(length))] {
                    precondition(octet != 0x00 && octet != 0x0A && octet != 0x0D, "a line end or NUL in a field")
                    mix(UInt64(octet))
                }
            }
        }
    }

    private mutating func mix(_ value: UInt64) {
        digest = (digest ^ value) &* 0x9E37_79B9_7F4A_7C15
        digest ^= digest >> 29
    }

    /// Marsaglia's xorshift: the same numbers for the same input.
    private mutating func next() -> UInt64 {
        random ^= random << 13
        random ^= random >> 7
        random ^= random << 17
        return random
    }
}

extension String {
    fileprivate var hashOfOctets: UInt64 {
        utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    }
}
