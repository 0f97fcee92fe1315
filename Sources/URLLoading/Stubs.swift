public import Foundation

open class URLSessionStreamTask: URLSessionTask, @unchecked Sendable {}
open class URLSessionWebSocketTask: URLSessionTask, @unchecked Sendable {}
