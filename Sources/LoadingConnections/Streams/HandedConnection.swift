package import LoadingTransport

/// A connection that carried HTTP and is somebody's own now.
package struct HandedConnection {
    package let stream: ByteStream
    package let origin: Origin
    /// What was read behind the head of the response.
    package let rest: [UInt8]
}
