public import Foundation

/// The superclass of ``URLSession``; not for other use.
///
/// It has the type that the toolchain's module lacks. Packages nest their own of that name in `URLSession` for Linux:
/// the type of a class has precedence over that of its superclass, but two of one class would be ambiguous.
open class _URLSessionMembers: NSObject, @unchecked Sendable {
    // Sendable: it has no state.

    /// The body of a response as an asynchronous sequence of bytes.
    ///
    /// Bytes are received as they are read: at most a few hundred kilobytes are buffered, then the transfer stops. For
    /// one reader. Throws the `URLError` of the load.
    public struct AsyncBytes: AsyncSequence, Sendable {
        /// A byte.
        public typealias Element = UInt8
        /// The type of the iterator.
        public typealias AsyncIterator = Iterator

        private let body: Body

        init(task: URLSessionDataTask, feed: ByteFeed) {
            body = Body(task: task, feed: feed)
        }

        /// The task behind the sequence.
        public var task: URLSessionDataTask { body.task }

        /// The one reader of the body.
        public func makeAsyncIterator() -> Iterator { Iterator(body: body) }

        /// Iterates over the bytes. Reads whole buffers internally, so most calls are an inlined array access on the
        /// caller's executor.
        public struct Iterator: AsyncIteratorProtocol, Sendable {
            /// A byte.
            public typealias Element = UInt8

            private let body: Body
            @usableFromInline var piece: [UInt8] = []
            @usableFromInline var offset = 0

            init(body: Body) { self.body = body }

            /// The next byte; nil at the end of the body.
            @inlinable
            public mutating func next() async throws -> UInt8? {
                if let byte = takeByte() { return byte }
                return try await nextPiece(isolation: nil)
            }

            /// The next byte; nil at the end of the body. Stays on the caller's executor.
            @inlinable
            public mutating func next(isolation actor: isolated (any Actor)?) async throws(any Error) -> UInt8? {
                if let byte = takeByte() { return byte }
                return try await nextPiece(isolation: actor)
            }

            @inlinable @inline(__always)
            mutating func takeByte() -> UInt8? {
                guard offset < piece.count else { return nil }
                defer { offset &+= 1 }
                return piece[offset]
            }

            @usableFromInline
            mutating func nextPiece(isolation actor: isolated (any Actor)?) async throws -> UInt8? {
                piece = try await nextBuffer(isolation: actor) ?? []
                offset = 0
                return takeByte()
            }
        }

        /// Shared by the sequence and its iterators. When all are released, the load is cancelled.
        final class Body: Sendable {
            let task: URLSessionDataTask
            private let feed: ByteFeed

            init(task: URLSessionDataTask, feed: ByteFeed) {
                self.task = task
                self.feed = feed
            }

            deinit { task.cancel() }

            func next(isolation actor: isolated (any Actor)?) async throws -> Data? {
                try await withTaskCancellationHandler {
                    try await feed.next(isolation: actor) { [task] in task.core?.readerTookAll() }
                } onCancel: {
                    task.cancel()
                }
            }
        }
    }
}

extension URLSession.AsyncBytes.Iterator: BufferedBytes {
    mutating func nextBuffer(isolation actor: isolated (any Actor)?) async throws -> [UInt8]? {
        if offset < piece.count {
            defer { offset = piece.count }
            return Array(piece[offset...])
        }
        return try await body.next(isolation: actor).map { Array($0) }
    }
}
