package import LoadingTransport

/// A connection that carried HTTP and is somebody's own now.
package struct DetachedConnection {
    package let stream: ByteStream
    package let origin: ConnectionKey
    /// What was read behind the head of the response.
    package let rest: [UInt8]
}
