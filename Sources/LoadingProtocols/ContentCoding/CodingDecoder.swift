/// The decoder of one coding. The library's state is created with the first byte, so an empty body costs nothing.
protocol CodingDecoder: AnyObject {
    /// Why decoding ended. Bytes decoded before it are still returned.
    var failure: ContentCodingError? { get }

    /// Whether the input may end here: nothing was read, or everything that was begun is complete.
    var isComplete: Bool { get }

    /// Consumes bytes from the front of `input`, and returns the number of bytes written to `output`, which is not
    /// empty.
    ///
    /// If that is less than `output.count`, all of `input` is consumed and no output is pending, or there is a
    /// `failure`.
    func decode(_ input: inout UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer) -> Int
}

extension UnsafeRawBufferPointer {
    /// The rest after the first `count` bytes.
    @inline(__always)
    func skipping(_ count: Int) -> UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: self[count...]) }
}

extension UnsafeMutableRawBufferPointer {
    /// The rest after the first `count` bytes.
    @inline(__always)
    func skipping(_ count: Int) -> UnsafeMutableRawBufferPointer {
        UnsafeMutableRawBufferPointer(rebasing: self[count...])
    }
}
