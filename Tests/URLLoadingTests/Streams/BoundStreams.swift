import Foundation
import Testing
import URLLoading

/// Both streams of a bound pair, which strings are written to and read from.
struct BoundStreams: @unchecked Sendable {
    // Sendable: bound streams are thread-safe.
    let input: InputStream
    let output: OutputStream

    init(bufferSize: Int) throws {
        var (input, output): (InputStream?, OutputStream?)
        Stream.getBoundStreams(withBufferSize: bufferSize, inputStream: &input, outputStream: &output)
        self.input = try #require(input)
        self.output = try #require(output)
    }

    func open() -> Self {
        input.open()
        output.open()
        return self
    }

    /// The text, or "-1".
    func read(_ count: Int) -> String {
        var bytes = [UInt8](repeating: 0, count: max(count, 1))
        let length = input.read(&bytes, maxLength: count)
        return length < 0 ? "\(length)" : String(decoding: bytes[..<length], as: UTF8.self)
    }

    func write(_ text: String) -> Int { output.write(Array(text.utf8), maxLength: text.utf8.count) }

    /// Writes all of the bytes that fit, or all if the stream may block. Returns what is left.
    func write(_ bytes: ArraySlice<UInt8>, mayBlock: Bool) -> ArraySlice<UInt8> {
        var rest = bytes
        while !rest.isEmpty, mayBlock || output.hasSpaceAvailable {
            let count = output.write(Array(rest), maxLength: rest.count)
            guard count > 0 else { break }
            rest = rest.dropFirst(count)
        }
        return rest
    }
}
