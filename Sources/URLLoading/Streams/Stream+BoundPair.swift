public import Foundation

extension Stream {
    /// Creates a pair of streams that are connected: what is written to one is read from the other. So a program
    /// produces the body of a request while it is being sent.
    ///
    /// `read` blocks while there is nothing to read, `write` while the buffer is full. When the input stream is closed
    /// or released, `write` fails with `EPIPE`. Both may be used on different threads. A stream that is scheduled on a
    /// run loop calls its delegate there.
    ///
    /// - Parameters:
    ///   - bufferSize: How many bytes are written before the first one must be read; at least one.
    ///   - inputStream: Set to the stream to read from.
    ///   - outputStream: Set to the stream to write to.
    @_disfavoredOverload
    public class func getBoundStreams(
        withBufferSize bufferSize: Int, inputStream: UnsafeMutablePointer<InputStream?>?,
        outputStream: UnsafeMutablePointer<OutputStream?>?
    ) {
        let pipe = BoundPipe(capacity: max(1, bufferSize))
        let (input, output) = (BoundInputStream(pipe), BoundOutputStream(pipe))
        inputStream?.pointee = input
        outputStream?.pointee = output
    }
}
