public import Foundation

// Declarations other files need; the session and the tasks themselves take their place.

open class URLSession: NSObject, @unchecked Sendable {
    public struct AsyncBytes: Sendable {}
}

open class URLSessionTask: NSObject, @unchecked Sendable {
    open var currentRequest: URLRequest? { nil }
}

open class URLSessionDataTask: URLSessionTask, @unchecked Sendable {}

open class URLSessionUploadTask: URLSessionDataTask, @unchecked Sendable {}

open class URLSessionDownloadTask: URLSessionTask, @unchecked Sendable {}

open class URLSessionStreamTask: URLSessionTask, @unchecked Sendable {}

open class URLSessionWebSocketTask: URLSessionTask, @unchecked Sendable {}
