public import Foundation

open class URLSessionUploadTask: URLSessionDataTask, @unchecked Sendable {}
open class URLSessionStreamTask: URLSessionTask, @unchecked Sendable {}
open class URLSessionWebSocketTask: URLSessionTask, @unchecked Sendable {}
