public import Foundation

extension URLSession {
    /// Uploads data and returns the complete response body. Throws a `URLError` if the load fails; an HTTP error status
    /// does not throw. The body of `request` is ignored.
    ///
    /// Cancelling the Swift task cancels the load, which then throws `URLError.cancelled`.
    ///
    /// - Parameters:
    ///   - request: The request. Copied.
    ///   - bodyData: The body.
    ///   - delegate: The delegate of this task only. Retained until the task has ended.
    @_disfavoredOverload
    public func upload(
        for request: URLRequest, from bodyData: Data, delegate: (any URLSessionTaskDelegate)? = nil
    ) async throws -> (Data, URLResponse) {
        try await upload(request, .data(bodyData), delegate)
    }

    /// Uploads a file. See ``upload(for:from:delegate:)``.
    @_disfavoredOverload
    public func upload(
        for request: URLRequest, fromFile fileURL: URL, delegate: (any URLSessionTaskDelegate)? = nil
    ) async throws -> (Data, URLResponse) {
        try await upload(request, .file(fileURL), delegate)
    }

    func upload(
        _ request: URLRequest, _ content: UploadContent, _ delegate: (any URLSessionTaskDelegate)?
    ) async throws -> (Data, URLResponse) {
        let handle = CancellableTask()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let task = core.uploadTask(
                    self, request, content, .continuation { continuation.resume(with: $0) }, delegate: delegate)
                guard let task else { return continuation.resume(throwing: Self.invalidated) }
                handle.start(task)
            }
        } onCancel: {
            handle.cancel()
        }
    }
}
