import Foundation
import Glibc

/// A server for resumable uploads (draft-ietf-httpbis-resumable-upload) that outlives the uploading process. It reads
/// at the rate of a slow network.
final class UploadServer: Sendable {
    private let uploads = Uploads()
    private let listener: Listener

    init() throws {
        listener = try Listener()
        let uploads = uploads
        listener.serve { descriptor in
            guard let transport = Transport(descriptor, tls: nil) else { return }
            var connection = Connection(transport, uploads)
            connection.serve()
        }
    }

    var url: String { "http://127.0.0.1:\(listener.port)/" }

    /// The uploads that were completed since the last call.
    func takeComplete() -> [Data] { uploads.takeComplete() }

    /// Invalid requests.
    var faults: [String] { uploads.faultsSoFar }

    private final class Uploads: @unchecked Sendable {
        // Sendable because the state is guarded by `lock`.
        private let lock = NSLock()
        private var bytes: [Int: Data] = [:]
        private var isComplete: Set<Int> = []
        private var complete: [Data] = []
        private var faults: [String] = []
        private var last = 0

        var faultsSoFar: [String] { lock.withLock { faults } }

        func fault(_ text: String) { lock.withLock { faults.append(text) } }

        func make() -> Int {
            lock.withLock {
                last += 1
                bytes[last] = Data()
                return last
            }
        }

        func state(of number: Int) -> (count: Int, isComplete: Bool)? {
            lock.withLock { bytes[number].map { ($0.count, isComplete.contains(number)) } }
        }

        /// Returns false if these bytes were received already, from a process that has ended.
        func add(_ more: UnsafeRawBufferPointer, to number: Int, at offset: Int) -> Bool {
            lock.withLock {
                guard bytes[number]?.count == offset else { return false }
                bytes[number]?.append(contentsOf: more)
                return true
            }
        }

        func finish(_ number: Int) {
            lock.withLock {
                isComplete.insert(number)
                if let whole = bytes[number] { complete.append(whole) }
            }
        }

        func takeComplete() -> [Data] {
            lock.withLock {
                defer { complete = [] }
                return complete
            }
        }
    }

    private struct Connection {
        let transport: Transport
        let uploads: Uploads
        var input: [UInt8] = []

        init(_ transport: Transport, _ uploads: Uploads) {
            self.transport = transport
            self.uploads = uploads
        }

        mutating func serve() {
            while let (method, path, fields) = readHead() {
                guard answer(method, path, fields) else { break }
            }
            transport.close()
        }

        private mutating func fill() -> Bool {
            let count = withUnsafeTemporaryAllocation(byteCount: 16 * 1024, alignment: 1) { buffer in
                let count = transport.read(into: buffer)
                input.append(contentsOf: buffer[..<count])
                return count
            }
            return count > 0
        }

        private mutating func readHead() -> (String, String, [String: String])? {
            let end = Array("\r\n\r\n".utf8)
            while true {
                if let found = input.firstRange(of: end) {
                    let text = String(decoding: input[..<found.lowerBound], as: UTF8.self)
                    input.removeFirst(found.upperBound)
                    let lines = text.components(separatedBy: "\r\n")
                    let parts = lines[0].split(separator: " ").map(String.init)
                    guard parts.count == 3 else { return nil }
                    var fields: [String: String] = [:]
                    for line in lines.dropFirst() {
                        guard let colon = line.firstIndex(of: ":") else { return nil }
                        fields[line[..<colon].lowercased()] =
                            line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
                    }
                    return (parts[0], parts[1], fields)
                }
                guard input.count < 64 * 1024, fill() else { return nil }
            }
        }

        private mutating func answer(_ method: String, _ path: String, _ fields: [String: String]) -> Bool {
            let length = fields["content-length"].flatMap { Int($0) } ?? 0
            guard let number = Int(path.dropFirst()) else {
                let number = uploads.make()
                return transport.write(
                    "HTTP/1.1 104 Go On\r\nUpload-Draft-Interop-Version: 8\r\nLocation: /\(number)\r\n\r\n")
                    && take(length, number, 0) && finish(number)
            }
            guard let state = uploads.state(of: number) else {
                return transport.write("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
            }
            switch method {
            case "HEAD":
                return transport.write(
                    "HTTP/1.1 204 No Content\r\nUpload-Offset: \(state.count)\r\n"
                        + "Upload-Complete: \(state.isComplete ? "?1" : "?0")\r\n\r\n")
            case "PATCH":
                guard let offset = fields["upload-offset"].flatMap({ Int($0) }), offset == state.count else {
                    // The body is not read, so the connection cannot be reused.
                    _ = transport.write(
                        "HTTP/1.1 409 Conflict\r\nUpload-Offset: \(state.count)\r\nContent-Length: 0\r\n"
                            + "Connection: close\r\n\r\n")
                    return false
                }
                return take(length, number, offset) && finish(number)
            default:
                uploads.fault("\(method) \(path)")
                return false
            }
        }

        /// Stores a body while it arrives.
        private mutating func take(_ length: Int, _ number: Int, _ start: Int) -> Bool {
            var offset = start
            var left = length
            while left > 0 {
                if input.isEmpty, !fill() { return false }
                let count = min(left, input.count)
                guard input[..<count].withUnsafeBytes({ uploads.add($0, to: number, at: offset) }) else { return false }
                input.removeFirst(count)
                offset += count
                left -= count
                usleep(100)
            }
            return true
        }

        private func finish(_ number: Int) -> Bool {
            uploads.finish(number)
            return transport.write("HTTP/1.1 200 OK\r\nUpload-Complete: ?1\r\nContent-Length: 0\r\n\r\n")
        }
    }
}
