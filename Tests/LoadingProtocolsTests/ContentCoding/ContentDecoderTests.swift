import Glibc
import LoadingProtocols
import LoadingSemantics
import Testing

/// One coding with the sample in it.
struct CodedSample: Sendable, CustomTestStringConvertible {
    var name: String
    var codings: [String]
    var body: [UInt8]

    var testDescription: String { name }

    static let single = [
        CodedSample(name: "gzip", codings: ["gzip"], body: Encoders.deflate(Encoders.sample, as: .gzip)),
        CodedSample(name: "x-gzip", codings: ["X-GZip"], body: Encoders.deflate(Encoders.sample, as: .gzip)),
        CodedSample(name: "zlib", codings: ["deflate"], body: Encoders.deflate(Encoders.sample, as: .zlib)),
        CodedSample(name: "raw deflate", codings: ["deflate"], body: Encoders.deflate(Encoders.sample, as: .raw)),
        CodedSample(name: "br", codings: ["br"], body: Encoders.brotliSample),
        CodedSample(name: "zstd", codings: ["zstd"], body: Encoders.zstd(Encoders.sample)),
    ]

    static let stacked = [
        CodedSample(
            name: "br, gzip", codings: ["br", "gzip"], body: Encoders.deflate(Encoders.brotliSample, as: .gzip)),
        CodedSample(
            name: "gzip, identity, deflate, zstd", codings: ["gzip", "identity", "deflate", "zstd"],
            body: Encoders.zstd(
                Encoders.deflate(Encoders.deflate(Encoders.sample, as: .gzip), as: .zlib))),
    ]

    static let all = single + stacked
}

@Suite struct ContentDecoderTests {
    // ENC-3
    @Test(arguments: CodedSample.all)
    func decodesEveryCodingHoweverItIsCut(coded: CodedSample) {
        let expected = Decoded(bytes: Encoders.sample)
        for (inputSize, outputSize) in [(Int.max, 4096), (1, 4096), (1, 1), (Int.max, 1), (7, 600), (Int.max, 600)] {
            #expect(decode(coded.body, coded.codings, inputSize: inputSize, outputSize: outputSize) == expected)
        }
    }

    // ENC-10
    @Test(arguments: CodedSample.all)
    func everyTruncationIsTruncated(coded: CodedSample) {
        for length in 1..<coded.body.count {
            let decoded = decode(Array(coded.body[..<length]), coded.codings)
            #expect(decoded?.error == .truncated, "cut at \(length)")
            #expect(Encoders.sample.starts(with: decoded?.bytes ?? [0]), "cut at \(length)")
        }
    }

    // ENC-10: a body of no bytes is empty, not truncated.
    @Test(arguments: CodedSample.all)
    func anEmptyBodyIsEmpty(coded: CodedSample) {
        #expect(decode([], coded.codings) == Decoded())
    }

    // ENC-10: with a checksum no flipped bit goes unseen, except in gzip's dead header fields. (Adler-32 is too weak
    // for that on 600 letters, brotli and raw deflate have none.)
    @Test(arguments: CodedSample.all.filter { !["br", "raw deflate", "zlib"].contains($0.name) })
    func aFlippedBitNeverPassesForAnotherBody(coded: CodedSample) {
        for bit in 0..<coded.body.count * 8 {
            var body = coded.body
            body[bit / 8] ^= 1 << UInt8(bit % 8)
            let decoded = decode(body, coded.codings)
            #expect(decoded?.error != nil || decoded?.bytes == Encoders.sample, "bit \(bit)")
        }
    }

    // ENC-10
    @Test(arguments: CodedSample.single)
    func whatIsNotCodedIsCorrupt(coded: CodedSample) {
        let page = Array("<html>This has never been compressed, whatever the header says.</html>".utf8)
        #expect(decode(page, coded.codings)?.error == .corrupt)
    }

    // ENC-10, T-38: a wrong checksum is seen at the very end, when the data has been given out.
    @Test(arguments: CodedSample.single.filter { ["gzip", "zlib", "zstd"].contains($0.name) })
    func aWrongChecksumIsCorrupt(coded: CodedSample) {
        var body = coded.body
        // gzip ends with its checksum and the length, the others with the checksum.
        body[body.count - (coded.name == "gzip" ? 5 : 1)] ^= 0xFF
        // zstd looks at the checksum before it gives out its last block.
        let expected = coded.name == "zstd" ? [] : Encoders.sample
        #expect(decode(body, coded.codings) == Decoded(bytes: expected, error: .corrupt))
    }

    // ENC-10: after a failure there is only the failure.
    @Test func aFailureStays() throws {
        let decoder = try #require(try ContentDecoder(codings: ["gzip"]))
        var buffer = [UInt8](repeating: 0, count: 64)
        #expect(throws: ContentCodingError.corrupt) { try decoder.decodeAll([1, 2, 3], through: &buffer) { _ in } }
        let good = Encoders.deflate(Encoders.sample, as: .gzip)
        #expect(throws: ContentCodingError.corrupt) { try decoder.decodeAll(good, through: &buffer) { _ in } }
        #expect(throws: ContentCodingError.corrupt) { try decoder.finish() }
    }

    // ENC-3: RFC 1952 §2.2, members follow one another.
    @Test(arguments: [1, 5, Int.max])
    func gzipMembersAndZstdFramesFollowOneAnother(inputSize: Int) {
        let expected = Decoded(bytes: Encoders.sample + Encoders.sample + Encoders.sample)
        for (coding, one) in [
            ("gzip", Encoders.deflate(Encoders.sample, as: .gzip)), ("zstd", Encoders.zstd(Encoders.sample)),
        ] {
            #expect(decode(one + one + one, [coding], inputSize: inputSize) == expected)
            // The last byte of the third is missing.
            #expect(decode(one + one + one.dropLast(), [coding], inputSize: inputSize)?.error == .truncated)
        }
    }

    // ENC-3: servers pad; what follows the end is not part of the body.
    @Test(arguments: CodedSample.single, [1, Int.max])
    func whatFollowsTheEndIsIgnored(coded: CodedSample, inputSize: Int) {
        let padding: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
        let garbage = Array("\r\n<!-- served in 3 ms -->".utf8)
        for tail in [padding, garbage, Array("\r\n".utf8), [0], Array("stray".utf8)] {
            #expect(
                decode(coded.body + tail, coded.codings, inputSize: inputSize) == Decoded(bytes: Encoders.sample))
        }
    }

    // ENC-3: what begins like a frame is one, and it is cut off
    @Test(arguments: 1...8, [1, Int.max]) func beginningOfAFrame(count: Int, inputSize: Int) {
        let one = Encoders.zstd(Encoders.sample)
        #expect(decode(one + one.prefix(count), ["zstd"], inputSize: inputSize)?.error == .truncated)
    }

    // ENC-3: 0x1F alone, or before anything but 0x8B, starts no member.
    @Test(arguments: [1, Int.max])
    func halfAMagicNumberIsGarbage(inputSize: Int) {
        let one = Encoders.deflate(Encoders.sample, as: .gzip)
        #expect(decode(one + [0x1F], ["gzip"], inputSize: inputSize) == Decoded(bytes: Encoders.sample))
        #expect(decode(one + [0x1F, 0x1F, 0x8B], ["gzip"], inputSize: inputSize) == Decoded(bytes: Encoders.sample))
    }

    // ENC-4
    @Test(arguments: [["upper"], ["gzip", "sdch"], ["compress", "gzip"], [], ["identity"], ["Identity", "identity"]])
    func unknownOrNoCodingPassesThrough(codings: [String]) throws {
        #expect(try ContentDecoder(codings: codings) === nil)
    }

    // ENC-3
    @Test(arguments: ["gzip", " GZIP ,\tbr", "identity,gzip,", "br , x-gzip"])
    func readsTheField(field: String) throws {
        #expect(try ContentDecoder(contentEncoding: field) !== nil)
    }

    // ENC-4
    @Test(arguments: ["", " , ", "identity", "gzip;q=1", "gzip br", "gzip, ü"])
    func aFieldOfNoKnownCodingPassesThrough(field: String) throws {
        #expect(try ContentDecoder(contentEncoding: field) === nil)
    }

    // ENC-9
    @Test func fiveCodingsAreTheMost() throws {
        #expect(try ContentDecoder(codings: Array(repeating: "gzip", count: 5)) !== nil)
        #expect(throws: ContentCodingError.tooManyCodings) {
            try ContentDecoder(codings: Array(repeating: "gzip", count: 6))
        }
    }

    // ENC-9: RFC 9659, no window beyond 8 MiB.
    @Test func aHugeZstdWindowIsRefused() {
        #expect(decode(Encoders.zstdWithHugeWindow(), ["zstd"]) == Decoded(error: .corrupt))
    }

    // ENC-9: 1 GiB of zeros from 1 MiB, read through one small buffer.
    @Test(arguments: ["gzip", "zstd"])
    func aBombNeverGrowsBeyondTheBuffer(coding: String) throws {
        let mebibyte = [UInt8](repeating: 0, count: 1 << 20)
        let member = coding == "gzip" ? Encoders.deflate(mebibyte, as: .gzip) : Encoders.zstd(mebibyte)
        let decoder = try #require(try ContentDecoder(codings: [coding]))
        var buffer = [UInt8](repeating: 0, count: 32 * 1024)
        var total = 0
        for _ in 0..<1024 {
            try decoder.decodeAll(member, through: &buffer) { piece in total += piece.count }
        }
        try decoder.finish()
        #expect(total == 1 << 30)
    }

    // ENC-9: a bomb in a bomb.
    @Test func aStackedBombIsReadSlowly() throws {
        let decoder = try #require(try ContentDecoder(codings: ["br", "gzip", "deflate"]))
        let body = Encoders.deflate(Encoders.deflate(Encoders.brotliBomb, as: .gzip), as: .zlib)
        var buffer = [UInt8](repeating: 0, count: 32 * 1024)
        var total = 0
        try decoder.decodeAll(body, through: &buffer) { piece in total += piece.count }
        try decoder.finish()
        #expect(total == 64 << 20)
    }

    // ENC-9: blocks of nothing cost time, give nothing, and are the more of them the more often they are coded
    @Test func aCallEndsThoughNothingComesOut() throws {
        let nothing: [UInt8] = [0, 0, 0, 0xFF, 0xFF]
        let blocks = (0..<8 << 20).map { nothing[$0 % nothing.count] }
        let whole = Array(blocks[..<(blocks.count - blocks.count % nothing.count)])
        let inner = whole + Encoders.deflate(Encoders.sample, as: .raw)
        let body = Encoders.deflate(inner, as: .gzip)
        let decoder = try #require(try ContentDecoder(codings: ["deflate", "gzip"]))
        var buffer = [UInt8](repeating: 0, count: 4096)
        var interruptions = 0
        var decoded: [UInt8] = []
        try body.withUnsafeBytes { bytes in
            var rest = bytes
            while true {
                let count = try buffer.withUnsafeMutableBytes { try decoder.decode(&rest, into: $0) }
                decoded += buffer[..<count]
                if decoder.isInterrupted { interruptions += 1 } else if count == 0 { break }
            }
        }
        try decoder.finish()
        #expect(decoded == Encoders.sample)
        #expect(interruptions >= 4)
    }

    // ENC-9: a buffer of no bytes neither takes nor gives.
    @Test func anEmptyBufferTakesNothing() throws {
        let decoder = try #require(try ContentDecoder(codings: ["gzip"]))
        let body = Encoders.deflate(Encoders.sample, as: .gzip)
        let taken = try body.withUnsafeBytes { bytes in
            var rest = bytes
            let produced = try decoder.decode(&rest, into: UnsafeMutableRawBufferPointer(start: nil, count: 0))
            return [produced, bytes.count - rest.count]
        }
        #expect(taken == [0, 0])
    }

    // ENC-10, ERR-7
    @Test func failuresHaveTheirCodes() {
        let destinations: [ContentCodingError.Destination] = [.memory, .file, .wholeFile]
        let errors: [(ContentCodingError, [LoadError])] = [
            (.truncated, [.networkConnectionLost, .networkConnectionLost, .downloadDecodingFailedToComplete]),
            (.corrupt, [.cannotDecodeRawData, .downloadDecodingFailedMidStream, .downloadDecodingFailedToComplete]),
            (.tooManyCodings, [.cannotDecodeContentData, .cannotDecodeContentData, .cannotDecodeContentData]),
        ]
        for (error, expected) in errors { #expect(destinations.map { error.loadError($0) } == expected) }
        #expect(
            destinations.map { ContentCodingError.outOfMemory.loadError($0) }
                == [-1015, -3006, -3007].map { LoadError(code: $0, cause: .posix(ENOMEM)) })
    }
}
