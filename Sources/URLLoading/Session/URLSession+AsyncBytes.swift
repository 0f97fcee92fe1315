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

        /// Iterates over the bytes. Reads whole buffers internally, so most calls are an inlined memory access on the
        /// caller's executor.
        public struct Iterator: AsyncIteratorProtocol, @unchecked Sendable {
            // Sendable: the bytes at `position` belong to `piece`, which is not changed while it has several owners.

            /// A byte.
            public typealias Element = UInt8

            private let body: Body
            private var piece = Piece(capacity: 0)
            /// The next byte in `piece`, and how many bytes are left. A pointer, because in debug builds, where nothing
            /// is inlined, an access to an array costs several times as much.
            @usableFromInline var position: UnsafePointer<UInt8>
            @usableFromInline var left = 0

            init(body: Body) {
                self.body = body
                position = UnsafePointer(piece.bytes)
            }

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
                guard left != 0 else { return nil }
                let byte = position.pointee
                position = position.advanced(by: 1)
                left &-= 1
                return byte
            }

            @usableFromInline
            mutating func nextPiece(isolation actor: isolated (any Actor)?) async throws -> UInt8? {
                if let next = try await body.next(isolation: actor) { fill(with: next) }
                return takeByte()
            }

            private mutating func fill(with data: Data) {
                if data.count > piece.capacity || !isKnownUniquelyReferenced(&piece) {
                    piece = Piece(capacity: data.count)
                }
                data.copyBytes(to: piece.bytes, count: data.count)
                position = UnsafePointer(piece.bytes)
                left = data.count
            }

            mutating func nextBuffer(isolation actor: isolated (any Actor)?) async throws -> [UInt8]? {
                guard left > 0 else { return try await body.next(isolation: actor).map { Array($0) } }
                defer { left = 0 }
                return Array(UnsafeBufferPointer(start: position, count: left))
            }
        }

        /// The memory of the bytes that an iterator has read.
        private final class Piece {
            let capacity: Int
            let bytes: UnsafeMutablePointer<UInt8>

            init(capacity: Int) {
                self.capacity = capacity
                bytes = .allocate(capacity: capacity)
            }

            deinit { bytes.deallocate() }
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

extension URLSession.AsyncBytes.Iterator: BufferedBytes {}
