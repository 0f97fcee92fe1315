import CSimulation
import Foundation

/// A request of HTTP/2 or HTTP/3, and its response as far as it is sent.
struct MultiplexedStream {
    var request = OriginServer.Request(method: "", target: "", isSecure: true)
    /// HTTP/3: whether it came as early data.
    var isEarly = false
    var body: ArraySlice<UInt8> = []
    /// Octets of the body that may be sent now.
    var allowed = 0

    mutating func addField(_ name: String, _ value: String) {
        switch name {
        case ":method": request.method = value
        case ":path": request.target = value
        case ":authority": request.authority = value
        case ":scheme": Law.require(value == "https", "a request over TLS is of https")
        default:
            let isRight = name == name.lowercased() && !name.hasPrefix(":")
            Law.require(isRight, "a field of HTTP/2 and HTTP/3 is right: \(name)")
            request.fields.append((name, value))
        }
    }

    mutating func takeBody(_ buffer: UnsafeMutableBufferPointer<UInt8>, _ isLast: UnsafeMutablePointer<Bool>?) -> Int64
    {
        let part = body.prefix(min(allowed, buffer.count))
        _ = buffer.update(fromContentsOf: part)
        body = body.dropFirst(part.count)
        allowed -= part.count
        isLast?.pointee = body.isEmpty
        return Int64(part.count)
    }
}

extension OriginServer.Response {
    /// Names and values in turn, `:status` first, and how many fields there are.
    func withFields(_ use: ([UnsafePointer<CChar>?], Int64) -> Void) {
        let all = [(name: ":status", value: "\(status)")] + fields.map { (name: $0.name.lowercased(), value: $0.value) }
        let texts = all.flatMap { [strdup($0.name), strdup($0.value)] }
        defer { for text in texts { free(text) } }
        use(texts.map { UnsafePointer($0) }, Int64(all.count))
    }
}

/// What a callback of CSimulation gives.
func text(_ bytes: UnsafePointer<UInt8>?, _ count: Int64) -> String {
    String(decoding: UnsafeBufferPointer(start: bytes, count: Int(count)), as: UTF8.self)
}
