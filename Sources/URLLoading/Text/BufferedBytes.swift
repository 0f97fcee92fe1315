/// An iterator over bytes that has many of them at once, so that a reader of text need not await each.
protocol BufferedBytes<Failure>: AsyncIteratorProtocol, Sendable where Element == UInt8 {
    /// All bytes that are there, at least one; waits for some if there are none. Nil at the end.
    mutating func nextBuffer(isolation actor: isolated (any Actor)?) async throws(Failure) -> [UInt8]?
}
