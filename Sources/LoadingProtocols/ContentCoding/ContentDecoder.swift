/// Decodes the body of a response with a `Content-Encoding`, piece by piece. Confined to one thread.
///
/// The output goes to the caller's buffer, so memory is bounded whatever the body expands to: call `decode` with the
/// same input until it returns 0, then with the next input, and `finish` at the end of the body.
package final class ContentDecoder {
    /// Output of one decoder that the next has not read.
    private struct Link {
        let buffer: UnsafeMutableRawBufferPointer
        var start = 0
        var end = 0
    }

    /// In the order of decoding: the last applied coding first.
    private let decoders: [any CodingDecoder]
    /// `links[n]` lies between `decoders[n]` and `decoders[n + 1]`.
    private var links: [Link] = []
    private var feedingsLeft = 0

    /// Whether the last call stopped at its limit. The next call continues with the rest of the input.
    package private(set) var isInterrupted = false

    /// Whether the library for `br` can be loaded. The first access waits for that.
    package static let decodesBrotli = BrotliDecoder.isAvailable

    /// Nil if the body is delivered without decoding: no coding, or an unknown one (ENC-4).
    ///
    /// - Parameter codings: In the order in which they were applied, as `Content-Encoding` lists them.
    package init?(codings: [String]) throws(ContentCodingError) {
        var decoders: [any CodingDecoder] = []
        for name in codings.lazy.map({ $0.lowercased() }) where name != "identity" && !name.isEmpty {
            guard let coding = ContentCoding(name: name) else { return nil }
            switch coding {
            case .gzip: decoders.append(InflateDecoder(isGzip: true))
            case .deflate: decoders.append(InflateDecoder(isGzip: false))
            case .brotli: decoders.append(BrotliDecoder())
            case .zstd: decoders.append(ZstdDecoder())
            }
        }
        if decoders.isEmpty { return nil }
        if decoders.count > ContentCodingLimits.codings { throw .tooManyCodings }
        decoders.reverse()
        self.decoders = decoders
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

    /// Consumes bytes from the front of `input`, and returns the number of bytes written to `output`.
    ///
    /// Returns 0 when `input` is consumed and more is needed, or if `isInterrupted`. An error is thrown after all bytes
    /// decoded before it were returned, and by each later call.
    package func decode(
        _ input: inout UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
    ) throws(ContentCodingError) -> Int {
        if output.isEmpty { return 0 }
        isInterrupted = false
        feedingsLeft = ContentCodingLimits.feedsPerCall
        return try pull(decoders.count - 1, from: &input, into: output)
    }

    /// The body has ended, and `decode` has returned 0 for its last bytes. Zero bytes are an empty body in any coding.
    package func finish() throws(ContentCodingError) {
        for decoder in decoders {
            if let failure = decoder.failure { throw failure }
            if !decoder.isComplete { throw .truncated }
        }
    }

    /// Output of the decoder at `index`. Its input is the output of the decoder before it, or `input`.
    private func pull(
        _ index: Int, from input: inout UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
    ) throws(ContentCodingError) -> Int {
        let decoder = decoders[index]
        if index == 0 {
            let produced = decoder.decode(&input, into: output)
            if produced == 0, let failure = decoder.failure { throw failure }
            return produced
        }
        if links.isEmpty { makeLinks() }
        while true {
            let link = links[index - 1]
            var pending = UnsafeRawBufferPointer(rebasing: link.buffer[link.start..<link.end])
            let produced = decoder.decode(&pending, into: output)
            links[index - 1].start = link.end - pending.count
            if produced > 0 { return produced }
            if let failure = decoder.failure { throw failure }
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
        links = (1..<decoders.count).map { _ in
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
