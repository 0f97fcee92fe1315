internal import FoundationEssentials
internal import LoadingProtocols
internal import LoadingSemantics

/// Undoes the content codings of a response (ENC-1 to ENC-10), a buffer at a time, so that a small body that unfolds
/// into a huge one costs one buffer and the pace is the reader's.
struct DecodingStage {
    private var decoder: ContentDecoder?
    /// What the decoder was made of.
    private var codings = ""
    /// Whether what is decoded is written to a file (ERR-7).
    var writesFile = false

    var isActive: Bool { decoder != nil }

    /// Whether there may be output without more input: not every coder keeps to the pace of its reader by leaving
    /// input alone.
    private(set) var mayHoldOutput = false

    /// Whether the last call stopped for the time that it took, and goes on when it is called again.
    var isInterrupted: Bool { decoder?.isInterrupted ?? false }

    /// Looks at a response's head. Responses without a body by definition are never decoded (ENC-8).
    mutating func begin(_ head: ResponseHead, body: BodyLength) throws(LoadError) {
        decoder = nil
        mayHoldOutput = false
        writesFile = false
        if case .none = body { return }
        guard let field = head.fields.combinedValue("Content-Encoding") else { return }
        do { decoder = try ContentDecoder(contentEncoding: field) } catch { throw error.loadError() }
        codings = field
    }

    /// What the first bytes of a body are decoded to, at the most `most`. They are decoded again when their turn comes.
    func decodedStart(of bytes: [UInt8], most: Int) -> [UInt8] {
        guard isActive, let decoder = try? ContentDecoder(contentEncoding: codings) else {
            return Array(bytes.prefix(most))
        }
        return Array(unsafeUninitializedCapacity: most) { buffer, count in
            bytes.withUnsafeBytes { bytes in
                var input = bytes
                let output = UnsafeMutableRawBufferPointer(buffer)
                while let produced = try? decoder.decode(
                    &input, into: UnsafeMutableRawBufferPointer(rebasing: output[count...])), produced > 0
                {
                    count += produced
                }
            }
        }
    }

    /// Decodes from the front of `input` into `output`. Zero with an empty `input`: more is needed, unless
    /// `isInterrupted`.
    mutating func decode(
        _ input: inout UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
    ) throws(LoadError) -> Int {
        guard let decoder else { return 0 }
        do {
            let count = try decoder.decode(&input, into: output)
            mayHoldOutput = count > 0 || decoder.isInterrupted
            return count
        } catch {
            mayHoldOutput = false
            throw error.loadError(writesFile ? .file : .memory)
        }
    }

    /// The body is complete; throws when the coding is not.
    mutating func finish() throws(LoadError) {
        guard let decoder else { return }
        self.decoder = nil
        do { try decoder.finish() } catch { throw error.loadError(writesFile ? .wholeFile : .memory) }
    }
}
