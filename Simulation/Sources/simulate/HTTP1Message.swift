import Foundation

/// The octets of HTTP/1.1, on the server's side.
enum HTTP1Message {
    /// The head that the octets begin with, and its length. Nil if it is not complete. No end is before `searched`.
    static func takeHead(of received: [UInt8], after searched: Int) -> (request: OriginServer.Request, length: Int)? {
        guard let end = end(of: received, after: searched) else { return nil }
        let lines = String(decoding: received[..<end], as: UTF8.self).components(separatedBy: "\r\n")
        let words = lines[0].split(separator: " ").map(String.init)
        Law.require(words.count == 3 && words[2] == "HTTP/1.1", "a request line is right: \(lines[0])")
        var request = OriginServer.Request(method: words[0], target: words[1])
        for line in lines.dropFirst() {
            let field = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
                .map { $0.trimmingCharacters(in: .whitespaces) }
            Law.require(field.count == 2, "a field is right: \(line)")
            request.fields.append((field[0].lowercased(), field[1]))
        }
        let hosts = request.values(of: "host")
        Law.require(hosts.count == 1, "a request has one Host field: \(hosts)")
        request.authority = hosts[0]
        return (request, end + 4)
    }

    private static func end(of received: [UInt8], after searched: Int) -> Int? {
        let mark: [UInt8] = [13, 10, 13, 10]
        var place = max(0, searched - 3)
        while place + 4 <= received.count {
            if received[place] == 13, received[place..<place + 4].elementsEqual(mark) { return place }
            place += 1
        }
        return nil
    }

    /// The body of a request that the octets begin with, and its length with what frames it. Nil if it is not complete.
    static func takeBody(of request: OriginServer.Request, from received: [UInt8]) -> (body: [UInt8], length: Int)? {
        let lengths = request.values(of: "content-length").map { Int($0) ?? -1 }
        let codings = request.values(of: "transfer-encoding")
        Law.require(lengths.count + codings.count < 2 && lengths.allSatisfy { $0 >= 0 }, "a body has one length")
        guard codings.isEmpty else {
            Law.require(codings == ["chunked"], "a body is chunked: \(codings)")
            return takeChunks(from: received)
        }
        let length = lengths.first ?? 0
        return received.count >= length ? (Array(received[..<length]), length) : nil
    }

    /// Without extensions and trailers, which the client does not send.
    private static func takeChunks(from received: [UInt8]) -> (body: [UInt8], length: Int)? {
        var chunks: [Range<Int>] = [], place = 0
        while true {
            guard let end = received[place...].firstIndex(of: 13) else { return nil }
            let text = String(decoding: received[place..<end], as: UTF8.self), size = Int(text, radix: 16) ?? -1
            Law.require(size >= 0, "a chunk has a size: \(text)")
            let start = end + 2
            guard received.count >= start + size + 2 else { return nil }
            let isEnded = received[end + 1] == 10 && Array(received[(start + size)...].prefix(2)) == [13, 10]
            Law.require(isEnded, "a chunk ends with a line break")
            place = start + size + 2
            if size == 0 { return (chunks.flatMap { received[$0] }, place) }
            chunks.append(start..<start + size)
        }
    }

    static func head(_ response: OriginServer.Response) -> [UInt8] {
        let lines = ["HTTP/1.1 \(response.status) -"] + response.fields.map { "\($0.name): \($0.value)" }
        return Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8)
    }
}
