/// Decodes the body of a response whose `Content-Encoding` names codings, piece by piece.
///
/// Input is pushed, output is pulled into the caller's buffer, so however small a body and however large what it
/// unfolds to, nothing grows: call `decode` with the same input until it returns 0, then bring more input, and at
/// the end of the body call `finish`. One connection's thread uses it; it is not `Sendable`.
package final class ContentDecoder {
    /// What one stage has written and the next has not yet read.
    private struct Link {
        let buffer: UnsafeMutableRawBufferPointer
        var start = 0
        var end = 0
    }

    /// In the order of decoding, that is the last coding applied first.
    private let stages: [any DecodingStage]
    /// `links[n]` lies between `stages[n]` and `stages[n + 1]`.
    private var links: [Link] = []
    private var feedingsLeft = 0

    /// Whether the last call took its time and stopped: called again it goes on, with what is left of the input.
    package private(set) var isInterrupted = false

    /// Nil if the body is to be delivered as it is: no coding, or one that is unknown (ENC-4).
    ///
    /// - Parameter codings: In the order in which they were applied, as `Content-Encoding` lists them.
    package init?(codings: [String]) throws(ContentCodingError) {
        var stages: [any DecodingStage] = []
        for name in codings.lazy.map({ $0.lowercased() }) where name != "identity" && !name.isEmpty {
            guard let coding = ContentCoding(name: name) else { return nil }
            switch coding {
            case .gzip: stages.append(InflateStage(isGzip: true))
            case .deflate: stages.append(InflateStage(isGzip: false))
            case .brotli: stages.append(BrotliStage())
            case .zstd: stages.append(ZstdStage())
            }
        }
        if stages.isEmpty { return nil }
        if stages.count > ContentCodingLimits.codings { throw .tooManyCodings }
        stages.reverse()
        self.stages = stages
    }

    /// For the combined value of a `Content-Encoding` field.
    package convenience init?(contentEncoding: String) throws(ContentCodingError) {
        let codings = contentEncoding.utf8.split(separator: UInt8(ascii: ",")).map { part in
            let isSpace = { (byte: UInt8) in byte == 0x20 || byte == 0x09 }
            let trimmed = part.drop(while: isSpace).reversed().drop(while: isSpace).reversed()
            return String(decoding: Array(trimmed), as: UTF8.self)
        }
        try self.init(codings: codings)
    }

    deinit {
        for link in links { link.buffer.deallocate() }
    }

    /// Takes from the front of `input` what fits, and returns how many bytes it wrote to the front of `output`.
    ///
    /// 0 says that `input` is used up and more is needed, unless `isInterrupted`. A failure is thrown after all that was
    /// decoded before it has been given out, and again from then on.
    package func decode(
        _ input: inout UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
    ) throws(ContentCodingError) -> Int {
        if output.isEmpty { return 0 }
        isInterrupted = false
        feedingsLeft = ContentCodingLimits.feedsPerCall
        return try pull(stages.count - 1, from: &input, into: output)
    }

    /// Says that the body has ended; every byte has been given to `decode`, and it has returned 0.
    ///
    /// A body of no bytes at all is an empty body in any coding.
    package func finish() throws(ContentCodingError) {
        for stage in stages {
            if let failure = stage.failure { throw failure }
            if !stage.isComplete { throw .truncated }
        }
    }

    /// Output of the stage at `index`, which gets its input from the stage before it, the first from outside.
    private func pull(
        _ index: Int, from input: inout UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
    ) throws(ContentCodingError) -> Int {
        let stage = stages[index]
        if index == 0 {
            let produced = stage.decode(&input, into: output)
            if produced == 0, let failure = stage.failure { throw failure }
            return produced
        }
        if links.isEmpty { makeLinks() }
        while true {
            let link = links[index - 1]
            var pending = UnsafeRawBufferPointer(rebasing: link.buffer[link.start..<link.end])
            let produced = stage.decode(&pending, into: output)
            links[index - 1].start = link.end - pending.count
            if produced > 0 { return produced }
            if let failure = stage.failure { throw failure }
            guard feedingsLeft > 0 else {
                isInterrupted = true
                return 0
            }
            feedingsLeft -= 1
            let fetched = try pull(index - 1, from: &input, into: link.buffer)
            if fetched == 0 { return 0 }
            links[index - 1].start = 0
            links[index - 1].end = fetched
        }
    }

    private func makeLinks() {
        links = (1..<stages.count).map { _ in
            Link(
                buffer: .allocate(
                    byteCount: ContentCodingLimits.bytesBetweenCodings, alignment: MemoryLayout<UInt>.alignment))
        }
    }
}

/// A content coding that this library can decode (RFC 9110 §8.4.1, RFC 7932, RFC 8878).
enum ContentCoding: Sendable, Equatable {
    case gzip, deflate, brotli, zstd

    /// The coding of that lower-case name, or nil if it is unknown.
    init?(name: String) {
        switch name {
        case "gzip", "x-gzip": self = .gzip
        case "deflate": self = .deflate
        case "br": self = .brotli
        case "zstd": self = .zstd
        default: return nil
        }
    }
}
