/// A data task that sends a body: data, a file or a stream.
///
/// A file is read as it is sent, so that one of any size needs little memory. A task whose file is missing, unreadable or
/// shorter than it was when the sending began fails.
open class URLSessionUploadTask: URLSessionDataTask, @unchecked Sendable {
    // Sendable as every task is.
}
