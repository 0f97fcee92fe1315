import BackgroundTransfers
import Foundation
import Testing

@Suite struct MessageFramesTests {
    private static let contents = [Data("first".utf8), Data(), Data(repeating: 7, count: 5000), Data("last".utf8)]

    private static var stream: Data {
        contents.reduce(into: Data()) { MessageFrames.append($1, to: &$0) }
    }

    private func frames(of pieces: [Data], limit: Int = 8192) throws -> [Data] {
        var frames = MessageFrames(limit: limit)
        var found: [Data] = []
        for piece in pieces {
            piece.withUnsafeBytes { frames.append($0) }
            while let content = try frames.next() { found.append(content) }
        }
        #expect(frames.incompleteBytes == 0)
        return found
    }

    // BG-5: whatever the cuts
    @Test("cut at every byte") func cuts() throws {
        let stream = Self.stream
        for cut in 0...stream.count {
            #expect(try frames(of: [stream.prefix(cut), stream.dropFirst(cut)]) == Self.contents, "cut at \(cut)")
        }
        #expect(try frames(of: stream.map { Data([$0]) }) == Self.contents)
        #expect(try frames(of: [stream + stream + stream]) == Self.contents + Self.contents + Self.contents)
    }

    // BG-5: the announced length costs nothing, and a forged one is an error at once
    @Test("forged lengths", arguments: [8193, 1 << 20, 0x7FFF_FFFF, 0xFFFF_FFFF] as [UInt32])
    func forgedLengths(_ length: UInt32) {
        var frames = MessageFrames(limit: 8192)
        withUnsafeBytes(of: length.littleEndian) { frames.append($0) }
        #expect(throws: MessageFrames.Failure.tooLong) { try frames.next() }
    }

    // BG-5
    @Test("a truncated frame is none") func truncated() throws {
        var frames = MessageFrames()
        let stream = Self.stream.dropLast()
        stream.withUnsafeBytes { frames.append($0) }
        var found: [Data] = []
        while let content = try frames.next() { found.append(content) }
        #expect(found == Self.contents.dropLast())
        #expect(frames.incompleteBytes == 4 + 3)
    }
}
