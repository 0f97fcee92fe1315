import LoadingProtocols
import LoadingSemantics
import TestSupport

/// A session with an observer that writes down its events, one line each, with neighbouring body events of one
/// stream joined.
final class HTTP2Client: HTTP2SessionObserver {
    private(set) var lines: [String] = []
    /// Frames that were sent, from the last call of `takeFrames` on.
    private var sent: [UInt8] = []
    private(set) var session: HTTP2Session!  // set before anything can use it
    private var body: (stream: Int64, bytes: [UInt8])?
    /// What is to be sent on a stream; the last piece is the last.
    var bodies: [Int64: [HTTPStreamBodyRead]] = [:]
    /// Whether what was delivered is consumed at once.
    var consumes = true
    /// Called with each line as it is written.
    var reaction: ((HTTP2Client, String) -> Void)?
    var writesSending = false

    init(limits: HTTPStreamLimits = HTTPStreamLimits(), windows: StreamWindowSizes = StreamWindowSizes()) {
        session = HTTP2Session(configuration: HTTP2Configuration(limits: limits, windows: windows), observer: self)
    }

    /// One whose connection is set up, with so many requests sent.
    static func withRequests(
        _ count: Int, method: String = "GET", limits: HTTPStreamLimits = HTTPStreamLimits(),
        windows: StreamWindowSizes = StreamWindowSizes()
    ) -> HTTP2Client {
        let client = HTTP2Client(limits: limits, windows: windows)
        client.receive(HTTP2Frames.settings() + HTTP2Frames.settingsAnswer)
        for _ in 0..<count { client.submit(method) }
        _ = client.takeFrames()
        client.lines = []
        return client
    }

    @discardableResult
    func submit(
        _ method: String = "GET", path: String = "/", fields: [(String, String)] = [], body: [HTTPStreamBodyRead]? = nil
    ) -> Int64 {
        let request = HTTPStreamRequest(
            method: method, scheme: "https", path: path, fields: HTTPFields([("Host", "a.example")] + fields),
            hasBody: body != nil)
        do throws(HTTPStreamRequestError) {
            let stream = try session.submit(request)
            bodies[stream] = body
            return stream
        } catch {
            add("refused to submit: \(error)")
            return 0
        }
    }

    func receive(_ bytes: [UInt8]) {
        do throws(HTTP2Error) {
            try bytes.withUnsafeBufferPointer { octets throws(HTTP2Error) in
                try session.receive(UnsafeRawBufferPointer(octets))
            }
        } catch {
            add("error \(error)")
        }
    }

    /// Everything that is to be sent now.
    func takeOutput() -> [UInt8] {
        var bytes: [UInt8] = []
        do throws(HTTP2Error) {
            while let output = try session.nextOutput() { bytes += output }
        } catch {
            add("error \(error)")
        }
        return bytes
    }

    func takeFrames() -> [HTTP2SentFrame] { HTTP2SentFrame.all(takeOutput()) }

    func takeFrameLines() -> [String] { takeFrames().map(\.description) }

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

    // MARK: HTTP2SessionObserver

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

    func responseEnded(on stream: Int64) {
        add("\(stream) ended")
    }

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

    func peerIsGoingAway(lastStream: Int64, code: HTTP2ErrorCode) {
        add("going away after \(lastStream) with \(code.rawValue)")
    }

    func receivedPingAnswer(_ payload: UInt64) { add("ping answered \(payload)") }
}
