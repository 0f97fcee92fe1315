import Foundation
import Glibc

/// The loopback server, with a thread per connection. It runs in its own process (`soak --serve`), so that the
/// resources of the other process are the client's alone. Ends with its standard input.
enum Server {
    static func run(certificatePath: String) -> Never {
        signal(SIGPIPE, SIG_IGN)
        do {
            let context = TLSContext(pointer: try ServerCertificate.makeContext(writingTo: certificatePath))
            let count = AcceptedBytes()
            let plain = try Listener()
            let secure = try Listener()
            let resetting = try Listener()
            let insecure = try Listener()
            let refusing = try Listener(isListening: false)
            plain.serve { descriptor in
                guard let transport = Transport(descriptor, tls: nil) else { return }
                var connection = ServerConnection(transport, count: count)
                connection.serve()
            }
            secure.serve { descriptor in
                guard let transport = Transport(descriptor, tls: context.pointer) else { return }
                var connection = ServerConnection(transport, count: count)
                connection.serve()
            }
            resetting.serve { Transport($0, tls: nil)?.reset() }
            insecure.serve { descriptor in
                guard let transport = Transport(descriptor, tls: nil) else { return }
                _ = transport.write("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")
                transport.waitForEnd()
            }
            let ports = Ports(
                plain: plain.port, secure: secure.port, resetting: resetting.port, insecure: insecure.port,
                refusing: refusing.port)
            FileHandle.standardOutput.write(Data((ports.line + "\n").utf8))
            while readLine() != nil {}
            // Running connections end with the process.
            _exit(0)
        } catch {
            FileHandle.standardError.write(Data("The server cannot start: \(error)\n".utf8))
            exit(1)
        }
    }

    /// OpenSSL's server context, which has its own lock.
    private struct TLSContext: @unchecked Sendable {
        let pointer: OpaquePointer
    }
}
