import LoadingProtocols
import LoadingSemantics

/// One way for a parser to get a body's bytes, and a digest of all it said about them.
///
/// On the way it holds the parser to its promises: nil only when the input is used up, progress with each event, events
/// in their order, no more body than input, positions inside their block, an error that stays.
struct MultipartRun {
    enum Cutting {
        case nowhere
        case everywhere
        case anywhere(UInt64)
    }

    private(set) var digest: UInt64 = 0
    private var parser: MultipartParser
    private var random: UInt64 = 1
    private var isInPart = false
    private var hasEnded = false
    private var bodyCount = 0
    private var bodyDigest: UInt64 = 0

    init(_ bytes: UnsafeRawBufferPointer, boundary: [UInt8], limits: MultipartLimits, cutting: Cutting) {
        parser = MultipartParser(boundary: boundary, limits: limits)
        if case .anywhere(let seed) = cutting { random = seed | 1 }
        do throws(MultipartParseError) {
            var start = 0
            while start < bytes.count {
                let count: Int
                switch cutting {
                case .nowhere: count = bytes.count
                case .everywhere: count = 1
                case .anywhere: count = 1 + Int(truncatingIfNeeded: next() % 32)
                }
                let end = min(start + count, bytes.count)
                try feed(UnsafeRawBufferPointer(rebasing: bytes[start..<end]))
                start = end
            }
            while let event = try parser.inputEnded() { add(event) }
            precondition(hasEnded, "no end")
        } catch {
            endBody()
            mix(error == .headTooLong ? 7 : 8)
            do {
                _ = try parser.inputEnded()
                preconditionFailure("an error was forgotten")
            } catch let again {
                precondition(again == error, "an error turned into another")
            }
        }
        precondition(bodyCount <= bytes.count, "more body than input")
    }

    /// Gives the parser a copy of its own, so that the address sanitizer sees a read outside of it.
    private mutating func feed(_ bytes: UnsafeRawBufferPointer) throws(MultipartParseError) {
        let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 1)
        defer { copy.deallocate() }
        copy.copyMemory(from: bytes)
        var input = UnsafeRawBufferPointer(copy)
        var idleSteps = 0
        while true {
            let before = input.count
            guard let event = try parser.next(&input) else {
                precondition(input.isEmpty, "input was left although more was asked for")
                return
            }
            // A head whose last CR came before, held bytes, a part's end, the end: no more need no input of their own.
            idleSteps = input.count == before ? idleSteps + 1 : 0
            precondition(idleSteps < 4, "no progress")
            add(event)
        }
    }

    private mutating func add(_ event: MultipartEvent) {
        precondition(!hasEnded, "an event after the end")
        switch event {
        case .partHead(let fields):
            precondition(!isInPart, "a part within a part")
            isInPart = true
            mix(1)
            mix(fields)
        case .body(let bytes):
            precondition(isInPart, "a body outside of a part")
            precondition(!bytes.isEmpty, "an empty body event")
            bodyCount += bytes.count
            for octet in bytes { bodyDigest = (bodyDigest ^ UInt64(octet) &+ 1) &* 0x100_0000_01B3 }
        case .partEnd:
            precondition(isInPart, "an end without a part")
            isInPart = false
            endBody()
            mix(2)
        case .end(let isClosed):
            precondition(!isInPart, "a part without an end")
            hasEnded = true
            mix(isClosed ? 3 : 4)
        }
    }

    private mutating func endBody() {
        mix(bodyDigest)
        bodyDigest = 0
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
