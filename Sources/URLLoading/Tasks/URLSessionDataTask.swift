/// A task that delivers the response body as data.
open class URLSessionDataTask: URLSessionTask, @unchecked Sendable {
    // Sendable: as the superclass.
}
