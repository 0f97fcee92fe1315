import Foundation
import Glibc

/// The loopback server in its own process. Its certificate is added to the trusted ones of this process.
final class ServerProcess {
    let ports: Ports
    let certificatePath: String
    private let child: ChildProcess

    struct NoPorts: Error {}

    init() throws {
        certificatePath = NSTemporaryDirectory() + "soak-\(getpid()).pem"
        child = try ChildProcess(["--serve", certificatePath], readsOutput: true)
        guard let ports = Ports(line: child.readLine()) else { throw NoPorts() }
        self.ports = ports
        setenv("SSL_CERT_FILE", certificatePath, 1)
    }

    func stop() {
        child.endInput()
        _ = child.wait()
        unlink(certificatePath)
    }

    /// The number of bytes of the counted body that the server's kernel has accepted. Queried over a separate socket.
    func acceptedBytes() -> Int {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        address.sin_port = ports.plain.bigEndian
        let isConnected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        let question = "GET /accepted HTTP/1.1\r\n\r\n"
        guard isConnected, send(descriptor, question, question.utf8.count, Int32(MSG_NOSIGNAL)) > 0 else {
            return 0
        }
        var buffer = [UInt8](repeating: 0, count: 1024)
        let count = max(0, recv(descriptor, &buffer, buffer.count, 0))
        let text = String(decoding: buffer[..<count], as: UTF8.self)
        return text.range(of: "\r\n\r\n").flatMap { Int(text[$0.upperBound...]) } ?? 0
    }
}
