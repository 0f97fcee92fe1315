internal import FoundationEssentials
internal import LoadingProtocols
internal import LoadingSemantics

/// Decodes the content codings of a response (ENC-1 to ENC-10), one buffer at a time. A small body that decodes to a
/// huge one occupies one buffer, and the consumer sets the pace.
struct DecodingStage {
    private var decoder: ContentDecoder?
    /// The codings for which the decoder was created.
    private var codings = ""
    /// Whether the decoded bytes are written to a file (ERR-7).
    var writesFile = false

    var isActive: Bool { decoder != nil }

    /// Whether more output may follow without more input. Not every decoder leaves input unread when the output is
    /// full.
    private(set) var mayHoldOutput = false

    /// Whether the last call stopped because of the time it took. The next call continues.
    var isInterrupted: Bool { decoder?.isInterrupted ?? false }

    /// Reads a response's head. Responses without a body by definition are never decoded (ENC-8), nor are parts of a
    /// coded body.
    mutating func begin(_ head: ResponseHead, body: BodyLength) throws(LoadError) {
        decoder = nil
        mayHoldOutput = false
        writesFile = false
        if case .none = body { return }
        guard let field = head.fields.combinedValue("Content-Encoding"), !Self.isPart(head) else { return }
        do { decoder = try ContentDecoder(contentEncoding: field) } catch { throw error.loadError() }
        codings = field
    }

    /// Whether the body is a range of the coded bytes (RFC 9110 §14.2) and not all of them, or has several ranges
    /// between lines that are not coded (§15.3.7.2).
    private static func isPart(_ head: ResponseHead) -> Bool {
        guard head.status == 206 else { return false }
        if MultipartStage.mayBeMultipart(head.fields), let type = head.fields.firstValue("Content-Type"),
            MediaType(contentType: type)?.mimeType == "multipart/byteranges"
        {
            return true
        }
        guard let range = head.fields.firstValue("Content-Range").flatMap({ ContentRange($0) }), let bytes = range.bytes
        else { return false }
        // The end of a valid range is less than the greatest number.
        return bytes.lowerBound != 0 || range.total != bytes.upperBound + 1
    }

    /// The decoded form of the first bytes of a body, at most `most` bytes. These bytes are decoded again when they are
    /// delivered.
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

    /// Decodes from the front of `input` into `output`. Zero with an empty `input` means that more input is needed,
    /// unless `isInterrupted`.
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

    /// Called when the body is complete. Throws if its coding is not.
    mutating func finish() throws(LoadError) {
        guard let decoder else { return }
        self.decoder = nil
        do { try decoder.finish() } catch { throw error.loadError(writesFile ? .wholeFile : .memory) }
    }
}
