package import LoadingSemantics

/// Parses a multipart body (RFC 2046 §5.1), such as a camera's images in `multipart/x-mixed-replace` (MISC-23, S-69).
/// Owns no socket and no clock.
///
/// For each piece of the body the caller calls `next` until it returns nil; at the end of the body, `inputEnded` until
/// it returns nil. Only delimiters end parts, so a wrong `Content-Length` of a part has no effect. A line in a part's
/// head that is no field is skipped. A bare CR there is an error, as in the head of a response.
package struct MultipartParser {
    private enum State {
        case preamble(MultipartPreamble)
        case head
        case body
        /// After the last delimiter; `.end` follows.
        case closed
        /// After the end of the input; `.end` follows.
        case cutOff
        /// In the epilogue.
        case ended
        case failed(MultipartParseError)
    }

    private let limits: MultipartLimits
    private var state: State
    private var section = HTTP1FieldSection()
    private var delimiter: MultipartDelimiter
    private let held: HeldBytes

    /// - Parameter boundary: From `MultipartBoundary`.
    package init(boundary: [UInt8], limits: MultipartLimits = MultipartLimits()) {
        self.limits = limits
        let line = [Octet.hyphen, Octet.hyphen] + boundary
        state = .preamble(MultipartPreamble(boundary: boundary))
        delimiter = MultipartDelimiter(line: line)
        held = HeldBytes(count: MultipartDelimiter.capacity(for: line))
    }

    /// The next event from the front of `input`; nil when all of it is consumed and more is needed.
    package mutating func next(
        _ input: inout UnsafeRawBufferPointer
    ) throws(MultipartParseError) -> MultipartEvent? {
        while true {
            switch state {
            case .preamble(var preamble):
                guard let found = preamble.find(in: &input) else {
                    state = .preamble(preamble)
                    return nil
                }
                delimiter = MultipartDelimiter(line: found.line)
                state = found.isLast ? .closed : .head
            case .head:
                guard let fields = try takeHead(&input) else { return nil }
                state = .body
                return .partHead(fields)
            case .body:
                switch delimiter.find(in: &input, holding: held.bytes) {
                case .text(let heldCount, let count):
                    if heldCount > 0 { return .body(held.prefix(heldCount)) }
                    let body = UnsafeRawBufferPointer(rebasing: input[..<count])
                    input.dropPrefix(count)
                    return .body(body)
                case .delimiter(let isLast):
                    state = isLast ? .closed : .head
                    return .partEnd
                case .needsMore:
                    return nil
                }
            case .closed:
                state = .ended
                return .end(isClosed: true)
            case .cutOff, .ended:
                input.dropPrefix(input.count)
                return nil
            case .failed(let error):
                throw error
            }
        }
    }

    /// The remaining events after the end of the body, one for each call; nil after `.end`. A part with an incomplete
    /// head is omitted.
    package mutating func inputEnded() throws(MultipartParseError) -> MultipartEvent? {
        switch state {
        case .preamble(let preamble):
            state = .ended
            return .end(isClosed: preamble.endsWithLast)
        case .body:
            let count = delimiter.heldCount
            if count > 0, !delimiter.isWholeBoundary {
                delimiter = MultipartDelimiter(line: delimiter.line)
                return .body(held.prefix(count))
            }
            state = .cutOff
            return .partEnd
        case .head, .cutOff:
            state = .ended
            return .end(isClosed: false)
        case .closed:
            state = .ended
            return .end(isClosed: true)
        case .ended:
            return nil
        case .failed(let error):
            throw error
        }
    }

    private mutating func takeHead(
        _ input: inout UnsafeRawBufferPointer
    ) throws(MultipartParseError) -> HTTPFields? {
        while true {
            switch section.takeLine(&input, limit: limits.maximumHeadLength) {
            case .needsMore: return nil
            case .tooLong: throw fail(.headTooLong)
            case .bareCarriageReturn: throw fail(.bareCarriageReturn)
            case .line: break
            }
            do throws(HTTP1ParseError) {
                if try section.takeField(maximumCount: limits.maximumFieldCount) { continue }
            } catch .tooManyFields {
                throw fail(.tooManyFields)
            } catch {
                continue
            }
            let whole = section
            section = HTTP1FieldSection()
            return whole.fields()
        }
    }

    private mutating func fail(_ error: MultipartParseError) -> MultipartParseError {
        state = .failed(error)
        section = HTTP1FieldSection()
        return error
    }
}

/// The start of a line that may become a delimiter. It stays at one address, so that an event can point to it.
private final class HeldBytes {
    let bytes: UnsafeMutableRawBufferPointer

    init(count: Int) {
        bytes = .allocate(byteCount: count, alignment: 1)
        bytes.initializeMemory(as: UInt8.self, repeating: 0)
    }

    deinit { bytes.deallocate() }

    func prefix(_ count: Int) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: bytes[..<min(count, bytes.count)])
    }
}

/// One step of a multipart body.
package enum MultipartEvent {
    case partHead(HTTPFields)
    /// Bytes of a part's body, at least one, in the input or in the parser: valid until its next call.
    case body(UnsafeRawBufferPointer)
    case partEnd
    /// The end. False if the input ended without the closing delimiter, for example because it was cut off.
    case end(isClosed: Bool)
}

/// The fields of a part's response (MISC-23).
package enum MultipartPartFields {
    /// Fields of the whole multipart body.
    private static let ofTheWhole = HTTPFields([("Content-Type", ""), ("Content-Length", ""), ("Content-Range", "")])

    /// The fields of the response; fields of the part replace those of the same name. A part of a few bytes may come
    /// with a head of the whole that has thousands of fields, so none of these is copied by itself.
    package static func merged(part: HTTPFields, into response: HTTPFields) -> HTTPFields {
        var result = response.without(namesOf: ofTheWhole).without(namesOf: part)
        result.append(contentsOf: part)
        return result
    }
}

/// Limits for what the parser buffers.
package struct MultipartLimits: Sendable, Equatable {
    /// Bytes of one part's head on the wire, empty line included.
    package let maximumHeadLength: Int
    /// Fields in one part's head.
    package let maximumFieldCount: Int

    package init(maximumHeadLength: Int = 64 << 10, maximumFieldCount: Int = 500) {
        self.maximumHeadLength = min(max(maximumHeadLength, 2), 1 << 30)
        self.maximumFieldCount = max(maximumFieldCount, 0)
    }
}

/// Why a multipart body could not be read: -1017.
package enum MultipartParseError: Error, Equatable, Sendable {
    case headTooLong
    case tooManyFields
    /// A CR in a part's head that no LF follows (RFC 9112 §2.2).
    case bareCarriageReturn
}
