/// The decoder of one coding. The library's state is created with the first byte, so an empty body costs nothing.
protocol DecodingStage: AnyObject {
    /// What ended the decoding; what was decoded before it has been, or will be, given out.
    var failure: ContentCodingError? { get }

    /// Whether the input may stop here: nothing has begun, or all that has begun is complete.
    var isComplete: Bool { get }

    /// Takes from the front of `input` and writes to `output`, as far as either goes, and returns the bytes written.
    ///
    /// `output` is not empty. If less than `output.count` is written, all of `input` was taken and nothing is held
    /// back, or there is a `failure`.
    func decode(_ input: inout UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer) -> Int
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
