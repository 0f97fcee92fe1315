import Foundation

/// The octets of HTTP/1.1, on the server's side.
enum HTTP1Message {
    /// Nil if it is not complete.
    static func takeRequest(from received: inout [UInt8]) -> OriginServer.Request? {
        guard let end = received.firstRange(of: Array("\r\n\r\n".utf8)) else { return nil }
        let lines = String(decoding: received[..<end.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
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
        let lengths = request.values(of: "content-length").map { Int($0) ?? -1 }
        let isChunked = !request.values(of: "transfer-encoding").isEmpty
        Law.require(lengths.count < 2 && !isChunked && lengths.allSatisfy { $0 >= 0 }, "a body has a length")
        let length = lengths.first ?? 0
        guard received.count >= end.upperBound + length else { return nil }
        request.body = Array(received[end.upperBound..<end.upperBound + length])
        received.removeFirst(end.upperBound + length)
        return request
    }

    static func head(_ response: OriginServer.Response) -> [UInt8] {
        let lines = ["HTTP/1.1 \(response.status) -"] + response.fields.map { "\($0.name): \($0.value)" }
        return Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8)
    }
}
