package struct TLSConfiguration: Hashable, Sendable { package init() {} }
package struct TLSError: Error, Equatable, Sendable { package var code: Int }
package struct TLSSessionFacts { package var version: UInt16; package var cipherSuite: UInt16 }
package enum TLSHandshakeStep { case complete, wantsRead, wantsWrite, failed(TLSError) }
package enum TLSReadResult { case bytes(Int), wouldBlock, wantsWrite, end, truncated, failed(TLSError) }
package enum TLSWriteResult { case bytes(Int), wouldBlock, failed(TLSError) }
package final class TLSStream {
    func handshake() -> TLSHandshakeStep { .complete }
    func read(into: UnsafeMutableRawBufferPointer) -> TLSReadResult { .end }
    func write(_: UnsafeRawBufferPointer) -> TLSWriteResult { .bytes(0) }
    func shutdown() {}
    package var session: TLSSessionFacts { TLSSessionFacts(version: 0, cipherSuite: 0) }
}
