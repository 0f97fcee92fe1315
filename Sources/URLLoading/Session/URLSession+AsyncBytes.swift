public import Foundation

extension URLSession {
    /// The body of a response as an asynchronous sequence of bytes.
    ///
    /// Bytes are taken from the connection as they are read here: at most a few hundred kilobytes wait in between,
    /// and then the sender has to wait. Meant for one reader; it throws the `URLError` the load failed with.
    public struct AsyncBytes: AsyncSequence, Sendable {
        public typealias Element = UInt8
        public typealias AsyncIterator = Iterator

        private let body: Body

        init(task: URLSessionDataTask, feed: ByteFeed) {
            body = Body(task: task, feed: feed)
        }

        /// The task behind the sequence.
        public var task: URLSessionDataTask { body.task }

        /// The one reader of the body.
        public func makeAsyncIterator() -> Iterator { Iterator(body: body) }

        /// Reads the body byte by byte, a buffer at a time behind the scenes.
        public struct Iterator: AsyncIteratorProtocol, Sendable {
            public typealias Element = UInt8

            private let body: Body
            private var piece: [UInt8] = []
            private var offset = 0

            init(body: Body) { self.body = body }

            /// The next byte; nil at the end of the body.
            @inline(__always)
            public mutating func next() async throws -> UInt8? {
                if offset < piece.count {
                    defer { offset &+= 1 }
                    return piece[offset]
                }
                return try await nextPiece()
            }

            private mutating func nextPiece() async throws -> UInt8? {
                guard let data = try await body.next(), !data.isEmpty else {
                    piece = []
                    offset = 0
                    return nil
                }
                piece = Array(data)
                offset = 1
                return piece[0]
            }
        }

        /// What the sequence and its iterators share; when all of them are gone nobody reads on, so the load ends.
        final class Body: Sendable {
            let task: URLSessionDataTask
            private let feed: ByteFeed

            init(task: URLSessionDataTask, feed: ByteFeed) {
                self.task = task
                self.feed = feed
            }

            deinit { task.cancel() }

            func next() async throws -> Data? {
                try await withTaskCancellationHandler {
                    try await feed.next { task.core?.readerTookAll() }
                } onCancel: {
                    task.cancel()
                }
            }
        }
    }
}
