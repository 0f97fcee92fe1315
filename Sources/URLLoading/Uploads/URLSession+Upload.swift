public import Foundation

extension URLSession {
    /// Sends data as the body of a request, and gives the whole body of the response. Throws only if there is no response:
    /// an HTTP status is no error. A body of the request's own is ignored.
    ///
    /// Cancelling the surrounding Swift task cancels the load; the call then throws `URLError.cancelled`.
    ///
    /// - Parameter delegate: Told and asked about this load alone. Held until it has ended.
    public func upload(
        for request: URLRequest, from bodyData: Data, delegate: (any URLSessionTaskDelegate)? = nil
    ) async throws -> (Data, URLResponse) {
        try await upload(request, .data(bodyData), delegate)
    }

    /// Sends a file as the body of a request. See ``upload(for:from:delegate:)``.
    public func upload(
        for request: URLRequest, fromFile fileURL: URL, delegate: (any URLSessionTaskDelegate)? = nil
    ) async throws -> (Data, URLResponse) {
        try await upload(request, .file(fileURL), delegate)
    }

    /// Sends data as the body of a request. See ``upload(for:from:delegate:)``.
    public func upload(for request: URLRequest, from bodyData: Data) async throws -> (Data, URLResponse) {
        try await upload(request, .data(bodyData), nil)
    }

    /// Sends a file as the body of a request. See ``upload(for:from:delegate:)``.
    public func upload(for request: URLRequest, fromFile fileURL: URL) async throws -> (Data, URLResponse) {
        try await upload(request, .file(fileURL), nil)
    }

    private func upload(
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
