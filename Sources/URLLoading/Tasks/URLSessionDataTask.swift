/// A load whose body goes to memory.
open class URLSessionDataTask: URLSessionTask, @unchecked Sendable {
    // Sendable for the same reason as its superclass; it adds nothing.
}
