/// The decoder of one coding. The library's state is created with the first byte, so an empty body costs nothing.
protocol DecodingStage: AnyObject {
    /// Takes from the front of `input` and writes to `output`, as far as either goes, and returns the bytes written.
    ///
    /// `output` is not empty. Less than `output.count` means that all of `input` was taken and nothing is held back.
    func decode(
        _ input: inout UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
    ) throws(ContentCodingError) -> Int

    /// Says that no input will follow. All output has been fetched.
    func finish() throws(ContentCodingError)
}

extension UnsafeRawBufferPointer {
    /// What is left after the first `count` bytes.
    @inline(__always)
    func skipping(_ count: Int) -> UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: self[count...]) }
}

extension UnsafeMutableRawBufferPointer {
    /// What is left after the first `count` bytes.
    @inline(__always)
    func skipping(_ count: Int) -> UnsafeMutableRawBufferPointer {
        UnsafeMutableRawBufferPointer(rebasing: self[count...])
    }
}
