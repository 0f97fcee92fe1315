import BackgroundTransfers
import Foundation
import Glibc
import LoadingPipeline
import TestSupport

/// A client of the background service that sends and receives single messages, and blocks meanwhile.
final class BackgroundPeer {
    /// Another message was expected.
    struct Unexpected: Error {}

    private let descriptor: Int32
    private var frames = MessageFrames()
    private var isClosed = false

    /// Takes ownership of the descriptor.
    init(_ descriptor: Int32) { self.descriptor = descriptor }

    deinit { close() }

    func close() {
        if isClosed { return }
        isClosed = true
        Glibc.close(descriptor)
    }

    func send(_ commands: ServiceCommand...) throws {
        var bytes = Data()
        for command in commands { MessageFrames.append(try TransferMessage(command).encoded(), to: &bytes) }
        let count = bytes.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
        guard count == bytes.count else { throw TestSupport.POSIXFailure("write") }
    }

    /// The next notice; nil at the end of the connection.
    func next() throws -> ServiceNotice? {
        while true {
            if let content = try frames.next() { return try TransferMessage<ServiceNotice>(decoding: content).content }
            var ready = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard poll(&ready, 1, 10_000) == 1 else { throw TestSupport.POSIXFailure("poll") }
            var bytes = [UInt8](repeating: 0, count: 65536)
            let count = read(descriptor, &bytes, bytes.count)
            if count == 0 { return nil }
            guard count > 0 else { throw TestSupport.POSIXFailure("read") }
            bytes.withUnsafeBytes { frames.append(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
        }
    }
}
