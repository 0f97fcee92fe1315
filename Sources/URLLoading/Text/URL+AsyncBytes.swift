public import Foundation

extension URL {
    /// What a URL leads to, as an asynchronous sequence of bytes, loaded by the shared session.
    ///
    /// The load begins when an iterator is first asked, and each iterator makes its own. An HTTP status is no error: the
    /// body of whatever response there is comes.
    public struct AsyncBytes: AsyncSequence, Sendable {
        public typealias Element = UInt8

        private let url: URL

        init(_ url: URL) { self.url = url }

        public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(url) }

        /// Reads the bytes of one load.
        public struct AsyncIterator: AsyncIteratorProtocol, Sendable {
            public typealias Element = UInt8

            private let url: URL
            /// Nil until the load was begun.
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

    /// What this URL leads to, as bytes.
    public var resourceBytes: AsyncBytes { AsyncBytes(self) }

    /// What this URL leads to, as lines of UTF-8 text. Empty lines are left out.
    public var lines: AsyncLineSequence<AsyncBytes> { resourceBytes.lines }
}

extension URL.AsyncBytes.AsyncIterator: BufferedBytes {
    mutating func nextBuffer(isolation actor: isolated (any Actor)?) async throws -> [UInt8]? {
        try await begin()
        return try await loaded?.nextBuffer(isolation: actor)
    }
}
