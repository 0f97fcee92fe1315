import Foundation
import Glibc

/// One connection of the server: reads requests, and behaves as their paths specify.
struct ServerConnection {
    let transport: Transport
    let count: AcceptedBytes
    private var input: [UInt8] = []

    init(_ transport: Transport, count: AcceptedBytes) {
        self.transport = transport
        self.count = count
    }

    private struct Head {
        var method: Substring
        var path: Substring
        var bodyLength = 0
        /// The start of the requested range, if `If-Range` matches the version.
        var start = 0
        var tag: Substring?
    }

    mutating func serve() {
        while let head = readHead() {
            if head.path == "/accepted" {
                guard answer("200 OK", [], text: "\(count.total)") else { return }
                continue
            }
            guard let script = ServerScript(path: head.path) else {
                _ = answer("404 Not Found", ["Connection: close"], text: "")
                return transport.close()
            }
            if case .cut(.withinRequest, let isReset) = script { return end(isReset) }
            if case .upload(let size) = script {
                guard takeBody(head.bodyLength, whole: size) else { return }
                continue
            }
            guard skip(head.bodyLength) else { return }
            if case .ranged(let size, let pause, let isChanging) = script {
                guard writeRest(of: size, head, pause, isChanging) else { return }
                continue
            }
            guard perform(script) else { return }
        }
        transport.close()
    }

    // MARK: Requests

    private mutating func fill(_ most: Int = 16 * 1024) -> Bool {
        // On the heap, because stack allocations in a loop are freed only at its end.
        let bytes = [UInt8](unsafeUninitializedCapacity: most) { buffer, count in
            count = transport.read(into: UnsafeMutableRawBufferPointer(buffer))
        }
        input.append(contentsOf: bytes)
        return !bytes.isEmpty
    }

    private mutating func readHead() -> Head? {
        let end = Array("\r\n\r\n".utf8)
        while true {
            if let found = input.firstRange(of: end) {
                let text = String(decoding: input[..<found.lowerBound], as: UTF8.self)
                input.removeFirst(found.upperBound)
                return parse(text)
            }
            guard input.count < 64 * 1024, fill() else { return nil }
        }
    }

    private func parse(_ text: String) -> Head? {
        let lines = text.split(separator: "\r\n")
        guard let first = lines.first?.split(separator: " "), first.count == 3 else { return nil }
        var head = Head(method: first[0], path: first[1])
        for line in lines.dropFirst() where line.lowercased().hasPrefix("content-length:") {
            head.bodyLength = Int(line.dropFirst(15).trimmingCharacters(in: .whitespaces)) ?? 0
        }
        for line in lines {
            let parts = line.split(separator: ": ", maxSplits: 1)
            guard parts.count == 2 else { continue }
            switch parts[0].lowercased() {
            case "range": head.start = Int(parts[1].dropFirst("bytes=".count).dropLast()) ?? 0
            case "if-range": head.tag = parts[1]
            default: break
            }
        }
        return head
    }

    private mutating func skip(_ length: Int) -> Bool {
        var rest = length
        // Discarded data need no large buffer.
        withUnsafeTemporaryAllocation(byteCount: 64 * 1024, alignment: 1) { buffer in
            while rest > input.count + buffer.count {
                let count = transport.read(into: buffer)
                if count == 0 { return }
                rest -= count
            }
        }
        while true {
            let here = min(rest, input.count)
            input.removeFirst(here)
            rest -= here
            if rest == 0 { return true }
            guard fill() else { return false }
        }
    }

    // MARK: Responses

    private func answer(_ status: String, _ fields: [String], text: String) -> Bool {
        transport.write(
            (["HTTP/1.1 \(status)"] + fields + ["Content-Length: \(text.utf8.count)", "", text])
                .joined(separator: "\r\n"))
    }

    private func writeHead(_ fields: String...) -> Bool {
        transport.write((["HTTP/1.1 200 OK"] + fields + ["", ""]).joined(separator: "\r\n"))
    }

    private func writeBody(_ range: Range<Int>, _ wrote: (Int) -> Void = { _ in }) -> Bool {
        var position = range.lowerBound
        while position < range.upperBound {
            let count = min(range.upperBound - position, BodyPattern.longest)
            guard BodyPattern.withBytes(at: position, count: count, { transport.write($0, wrote) }) else {
                return false
            }
            position += count
        }
        return true
    }

    private func end(_ isReset: Bool) {
        if isReset { transport.reset() } else { transport.close(sayingGoodbye: false) }
    }

    /// Returns false when the connection has ended.
    private func perform(_ script: ServerScript) -> Bool {
        switch script {
        case .body(let size, let framing, let after):
            if after > 0 { pause(after) }
            return writeWhole(size, framing)
        case .paced(let size, let pieces, let milliseconds):
            guard writeHead("Content-Length: \(size)") else { return false }
            for piece in 0..<pieces {
                let range = size * piece / pieces..<size * (piece + 1) / pieces
                guard writeBody(range) else { return false }
                pause(milliseconds)
            }
            return true
        case .thenClosed(let size, let milliseconds):
            guard writeWhole(size, .length) else { return false }
            pause(milliseconds)
            transport.close()
            return false
        case .redirect(let times, let size):
            let next: ServerScript =
                times > 1
                ? .redirect(times: times - 1, size: size) : .body(size: size, framing: .length, after: 0)
            return answer("302 Found", ["Location: \(next.path)"], text: "elsewhere")
        case .informational(let size):
            return transport.write("HTTP/1.1 103 Early Hints\r\nLink: </x>; rel=preload\r\n\r\n")
                && writeWhole(size, .length)
        case .cut(let phase, let isReset):
            switch phase {
            case .withinRequest, .afterRequest: break
            case .withinHead: _ = transport.write("HTTP/1.1 200 OK\r\nContent-Le")
            case .afterHead: _ = writeHead("Content-Length: 1000")
            case .withinBody: _ = writeHead("Content-Length: 100000") && writeBody(0..<40_000)
            }
            end(isReset)
            return false
        case .garbage:
            _ = transport.write("Soap and water\r\n\r\n")
            transport.close()
            return false
        case .silence:
            transport.waitForEnd()
            return false
        case .counted(let size):
            count.total = 0
            return writeHead("Content-Length: \(size)") && writeBody(0..<size) { count.total += $0 }
        case .cookies(let count, let size, let number):
            let value = String(repeating: "c", count: size)
            let fields = (0..<count).map { "Set-Cookie: n\(number)-\($0)=\(value); Max-Age=86400" }
            return answer("200 OK", fields, text: "")
        case .cacheable(let size, _):
            if size > 2000 {
                return writeHead("Cache-Control: max-age=3600", "Content-Length: \(size)") && writeBody(0..<size)
            }
            return answer("200 OK", ["Cache-Control: max-age=3600"], text: String(repeating: "b", count: size))
        case .ranged, .upload: return false
        }
    }

    private func writeRest(of size: Int, _ head: Head, _ pauseAfterPiece: Int, _ isChanging: Bool) -> Bool {
        let version = isChanging ? BodyPattern.currentVersion : 0
        let tag = "\"v\(version)\""
        let start = head.tag.map { $0 == tag } == true && head.start < size ? head.start : 0
        let isWritten =
            start > 0
            ? transport.write(
                "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes \(start)-\(size - 1)/\(size)\r\nETag: \(tag)\r\n"
                    + "Content-Length: \(size - start)\r\n\r\n")
            : writeHead("ETag: \(tag)", "Content-Length: \(size)")
        guard isWritten else { return false }
        let shift = BodyPattern.shift(of: version)
        for position in stride(from: start, to: size, by: 16 * 1024) {
            guard writeBody(position + shift..<min(position + 16 * 1024, size) + shift) else { return false }
            usleep(UInt32(pauseAfterPiece))
        }
        return true
    }

    private mutating func takeBody(_ length: Int, whole: Int) -> Bool {
        var good = 0
        var position = 0
        while position < length {
            if input.isEmpty, !fill(256 * 1024) { return false }
            let here = min(length - position, input.count)
            let isGood = input.withUnsafeBytes { bytes in
                SparseBody.matches(UnsafeRawBufferPointer(rebasing: bytes[..<here]), at: position)
            }
            if isGood { good += here }
            input.removeFirst(here)
            position += here
        }
        return answer("200 OK", [], text: good == whole ? "\(good)" : "\(good) of \(length) are as they should be")
    }

    private func writeWhole(_ size: Int, _ framing: ServerScript.Framing) -> Bool {
        switch framing {
        case .length:
            // A small response in one write, as servers do.
            if size > 2000 { return writeHead("Content-Length: \(size)") && writeBody(0..<size) }
            var all = Array("HTTP/1.1 200 OK\r\nContent-Length: \(size)\r\n\r\n".utf8)
            BodyPattern.withBytes(at: 0, count: size) { all.append(contentsOf: $0) }
            return all.withUnsafeBytes { transport.write($0) }
        case .chunked:
            guard writeHead("Transfer-Encoding: chunked") else { return false }
            var position = 0
            while position < size {
                let count = min(7000, size - position)
                let isWritten =
                    transport.write("\(String(count, radix: 16))\r\n") && writeBody(position..<position + count)
                    && transport.write("\r\n")
                guard isWritten else { return false }
                position += count
            }
            return transport.write("0\r\n\r\n")
        case .untilClose:
            _ = writeHead("Connection: close") && writeBody(0..<size)
            transport.close()
            return false
        case .deflate:
            let coded = StoredDeflate.encode(size)
            return writeHead("Content-Encoding: deflate", "Content-Length: \(coded.count)")
                && coded.withUnsafeBytes { transport.write($0) }
        }
    }

    private func pause(_ milliseconds: Int) { usleep(UInt32(milliseconds) * 1000) }
}

/// The number of bytes of the current counted body that the server's kernel has accepted.
final class AcceptedBytes: @unchecked Sendable {
    // Sendable because `value` is guarded by `lock`.
    private let lock = NSLock()
    private var value = 0

    var total: Int {
        get { lock.withLock { value } }
        set { lock.withLock { value = newValue } }
    }
}
