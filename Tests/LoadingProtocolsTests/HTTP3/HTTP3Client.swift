import LoadingProtocols
import LoadingSemantics

/// A session without QUIC whose observer writes down its events, one line each, with neighbouring body events
/// of one stream joined.
final class HTTP3Client: HTTP3SessionObserver {
    private(set) var lines: [String] = []
    private(set) var session: HTTP3Session!  // set before anything can use it
    private var body: (stream: Int64, bytes: [UInt8])?
    /// What is to be sent on a stream; the last piece is the last.
    var bodies: [Int64: [HTTPStreamBodyRead]] = [:]
    var consumes = true
    var writesSending = false
    /// Called with each line as it is written.
    var reaction: ((HTTP3Client, String) -> Void)?

    init(
        limits: HTTPStreamLimits = HTTPStreamLimits(), windows: StreamWindowSizes = StreamWindowSizes(),
        streams: Int = 100
    ) {
        session = HTTP3Session.loose(
            configuration: HTTP3Configuration(limits: limits, windows: windows), streams: streams, observer: self)
    }

    /// One whose server has sent its settings, with so many requests sent.
    static func withRequests(
        _ count: Int, limits: HTTPStreamLimits = HTTPStreamLimits(), windows: StreamWindowSizes = StreamWindowSizes()
    ) -> HTTP3Client {
        let client = HTTP3Client(limits: limits, windows: windows)
        client.receive(HTTP3Frames.control(), on: 3)
        for _ in 0..<count { client.submit() }
        _ = client.takeAll()
        client.lines = []
        return client
    }

    @discardableResult
    func submit(
        _ method: String = "GET", fields: [(String, String)] = [], body: [HTTPStreamBodyRead]? = nil
    ) -> Int64 {
        let request = HTTPStreamRequest(
            method: method, scheme: "https", path: "/", fields: HTTPFields([("Host", "a.example")] + fields),
            hasBody: body != nil)
        do throws(HTTPStreamRequestError) {
            let stream = try session.submit(request)
            bodies[stream] = body
            return stream
        } catch {
            add("refused to submit: \(error)")
            return -1
        }
    }

    func receive(_ bytes: [UInt8], isLast: Bool = false, on stream: Int64 = 0) {
        do throws(HTTP3Error) {
            try bytes.withUnsafeBufferPointer { octets throws(HTTP3Error) in
                try session.feed(UnsafeRawBufferPointer(octets), isLast: isLast, on: stream)
            }
        } catch {
            add("error \(error)")
        }
    }

    func receiveReset(_ code: HTTP3ErrorCode, on stream: Int64) {
        do throws(HTTP3Error) { try session.feedReset(code, on: stream) } catch { add("error \(error)") }
    }

    func receiveStop(_ code: HTTP3ErrorCode, on stream: Int64) {
        do throws(HTTP3Error) { try session.feedStop(code, on: stream) } catch { add("error \(error)") }
    }

    /// Everything that is to be sent now, stream by stream.
    func takeAll() -> [Int64: [UInt8]] {
        var bytes: [Int64: [UInt8]] = [:]
        while let piece = session.takeLooseOutput() { bytes[piece.stream, default: []] += piece.bytes }
        return bytes
    }

    func takeLines() -> [String] {
        endBody()
        defer { lines = [] }
        return lines
    }

    private func add(_ line: String) {
        endBody()
        lines.append(line)
        reaction?(self, line)
    }

    private func endBody() {
        guard let body else { return }
        self.body = nil
        lines.append("\(body.stream) body \(String(decoding: body.bytes, as: UTF8.self))")
    }

    private static func line(_ head: HTTPStreamResponseHead) -> String {
        let fields = (0..<head.fields.count).map { " | \(head.fields.name(at: $0))=\(head.fields.value(at: $0))" }
        return "\(head.status) (\(head.byteCount))" + fields.joined()
    }

    // MARK: HTTP3SessionObserver

    func received(informational head: HTTPStreamResponseHead, on stream: Int64) {
        add("\(stream) interim \(Self.line(head))")
    }

    func received(_ head: HTTPStreamResponseHead, endsStream: Bool, on stream: Int64) {
        add("\(stream) head \(Self.line(head))\(endsStream ? " end" : "")")
    }

    func received(body bytes: UnsafeRawBufferPointer, on stream: Int64) {
        if body?.stream != stream {
            endBody()
            body = (stream, [])
        }
        body?.bytes += bytes
        if consumes { session.consumed(bytes.count, on: stream) }
    }

    func responseEnded(on stream: Int64) { add("\(stream) ended") }

    func closed(_ stream: Int64, with failure: HTTPStreamFailure?) {
        add("\(stream) closed" + (failure.map { " \($0)" } ?? ""))
    }

    func fill(_ buffer: UnsafeMutableRawBufferPointer, withBodyOf stream: Int64) -> HTTPStreamBodyRead {
        guard let next = bodies[stream]?.first else { return .later }
        bodies[stream]?.removeFirst()
        guard case .bytes(let count, let isLast) = next else { return next }
        let written = min(count, buffer.count)
        for index in 0..<written { buffer[index] = 0x62 }
        if written == count { return next }
        bodies[stream]?.insert(.bytes(count - written, isLast: isLast), at: 0)
        return .bytes(written, isLast: false)
    }

    func sentHead(on stream: Int64, byteCount: Int) {
        if writesSending { add("\(stream) sent head \(byteCount)") }
    }

    func sentBody(on stream: Int64, byteCount: Int, frameByteCount: Int) {
        if writesSending { add("\(stream) sent body \(byteCount) \(frameByteCount)") }
    }

    func sentRequest(on stream: Int64) {
        if writesSending { add("\(stream) sent") }
    }

    func peerSettingsChanged() { add("settings") }
    func peerIsGoingAway(lastStream: Int64) { add("going away after \(lastStream)") }
    func receivedPingAnswer() { add("ping answered") }
    func received(certificates chain: [[UInt8]], cipherSuite: UInt16) { add("presented") }
    func handshakeCompleted() { add("complete") }
    func received(_ resumption: HTTP3Resumption) { add("resumption") }
}
