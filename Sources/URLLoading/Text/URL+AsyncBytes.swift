public import Foundation

extension URL {
    /// The resource of a URL as an asynchronous sequence of bytes, loaded by the shared session.
    ///
    /// Each iterator performs its own load, which begins with its first element. An HTTP error status is not an error:
    /// the body of the response is returned.
    public struct AsyncBytes: AsyncSequence, Sendable {
        /// A byte.
        public typealias Element = UInt8

        private let url: URL

        init(_ url: URL) { self.url = url }

        /// An iterator, whose first element begins a load.
        public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(url) }

        /// Iterates over the bytes of one load.
        public struct AsyncIterator: AsyncIteratorProtocol, Sendable {
            /// A byte.
            public typealias Element = UInt8

            private let url: URL
            /// Nil before the load begins.
            @usableFromInline var loaded: URLSession.AsyncBytes.Iterator?

            init(_ url: URL) { self.url = url }

            /// The next byte; nil at the end of the body.
            @inlinable
            public mutating func next() async throws -> UInt8? {
                if let byte = loaded?.takeByte() { return byte }
                return try await nextByte(isolation: nil)
            }

            /// The next byte; nil at the end of the body. Stays on the caller's executor.
            @inlinable
            public mutating func next(isolation actor: isolated (any Actor)?) async throws(any Error) -> UInt8? {
                if let byte = loaded?.takeByte() { return byte }
                return try await nextByte(isolation: actor)
            }

            @usableFromInline
            mutating func nextByte(isolation actor: isolated (any Actor)?) async throws -> UInt8? {
                try await begin()
                return try await loaded?.next(isolation: actor)
            }

            private mutating func begin() async throws {
                if loaded == nil { loaded = try await URLSession.shared.bytes(from: url).0.makeAsyncIterator() }
            }
        }
    }

    /// The resource of this URL as bytes.
    @_disfavoredOverload
    public var resourceBytes: AsyncBytes { AsyncBytes(self) }

    /// The resource of this URL as lines of UTF-8 text. Empty lines are omitted.
    @_disfavoredOverload
    public var lines: AsyncLineSequence<AsyncBytes> { resourceBytes.lines }
}

extension URL.AsyncBytes.AsyncIterator: BufferedBytes {
    mutating func nextBuffer(isolation actor: isolated (any Actor)?) async throws -> [UInt8]? {
        try await begin()
        return try await loaded?.nextBuffer(isolation: actor)
    }
}
