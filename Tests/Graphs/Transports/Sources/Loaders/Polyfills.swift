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

        /// The whole body in place of a sequence.
        public func bytes(
            for request: URLRequest, delegate: (any URLSessionTaskDelegate)? = nil
        ) async throws -> ([UInt8], URLResponse) {
            let (data, response) = try await data(for: request)
            return (Array(data), response)
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
#endif
