import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking

    /// As packages have them for Linux, with the signatures that the toolchain's module lacks.
    extension URLSession {
        public func data(for request: URLRequest) async throws -> (Data, URLResponse) {
            try await result { dataTask(with: request, completionHandler: $0) }
        }

        public func data(from url: URL) async throws -> (Data, URLResponse) {
            try await data(for: URLRequest(url: url))
        }

        public func upload(for request: URLRequest, from body: Data) async throws -> (Data, URLResponse) {
            try await result { uploadTask(with: request, from: body, completionHandler: $0) }
        }

        public func download(from url: URL) async throws -> (URL, URLResponse) {
            try await download(from: url, delegate: nil)
        }

        public func download(
            resumeFrom resumeData: Data, delegate: (any URLSessionTaskDelegate)? = nil
        ) async throws -> (URL, URLResponse) {
            throw URLError(.unsupportedURL)
        }

        /// The whole body, received before.
        public struct AsyncBytes: AsyncSequence, Sendable {
            public typealias Element = UInt8

            public struct AsyncIterator: AsyncIteratorProtocol {
                var octets: ArraySlice<UInt8>

                public mutating func next() async throws -> UInt8? { octets.popFirst() }
            }

            public let octets: [UInt8]

            public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(octets: octets[...]) }
        }

        public func bytes(
            for request: URLRequest, delegate: (any URLSessionTaskDelegate)? = nil
        ) async throws -> (URLSession.AsyncBytes, URLResponse) {
            let (data, response) = try await data(for: request)
            return (AsyncBytes(octets: Array(data)), response)
        }

        private func result(
            _ makeTask: (@escaping @Sendable (Data?, URLResponse?, Error?) -> Void) -> URLSessionTask
        ) async throws -> (Data, URLResponse) {
            try await withCheckedThrowingContinuation { continuation in
                makeTask { data, response, error in
                    if let data, let response {
                        continuation.resume(returning: (data, response))
                    } else {
                        continuation.resume(throwing: error ?? URLError(.unknown))
                    }
                }.resume()
            }
        }
    }

    extension URLSessionDownloadTask {
        public func cancelByProducingResumeData() async -> Data? {
            await withCheckedContinuation { continuation in
                cancel(byProducingResumeData: { continuation.resume(returning: $0) })
            }
        }
    }

    extension URLSessionStreamTask {
        public func write(_ data: Data, timeout: TimeInterval) async throws {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, Error>) in
                write(data, timeout: timeout) { error in
                    continuation.resume(with: Result { if let error { throw error } })
                }
            }
        }
    }

    extension AsyncSequence where Element == UInt8 {
        /// All of them at once.
        public var lines: [Substring] {
            get async throws {
                var octets: [UInt8] = []
                for try await octet in self { octets.append(octet) }
                return String(decoding: octets, as: UTF8.self).split(separator: "\n")
            }
        }
    }

    /// What Apple's API does not have.
    extension URLSessionTask {
        public enum Status { case present(URLSessionTask.State) }

        public var statusUpdates: [Status] { [.present(state)] }
    }

    extension URLSessionWebSocketTask {
        public var messages: AsyncThrowingStream<Message, Error> {
            AsyncThrowingStream { continuation in
                receive {
                    continuation.yield(with: $0)
                    continuation.finish()
                }
            }
        }
    }
#endif
