import Glibc
import LoadingProtocols
import LoadingSemantics
import TestSupport

/// A session on a real socket, driven by its own thread until something has happened.
final class HTTP3Connection: HTTP3SessionObserver {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// The events of a stream.
    struct Load {
        var head: HTTPStreamResponseHead?
        var body: [UInt8] = []
        var byteCount = 0
        var unread = 0
        var hasEnded = false
        var isClosed = false
        var failure: HTTPStreamFailure?
        var sentHead = 0
        var sentBody = 0
        var isSent = false
        /// What is left to be sent.
        var upload: ArraySlice<UInt8> = []
        /// Whether what comes is consumed at once.
        var isPaused = false
        var keepsBody = true
    }

    private let descriptor: Int32
    private(set) var session: HTTP3Session!  // set before anything can use it
    var loads: [Int64: Load] = [:]
    private(set) var chains: [[[UInt8]]] = []
    private(set) var resumptions: [HTTP3Resumption] = []
    private(set) var isComplete = false
    private(set) var error: HTTP3Error?
    private(set) var pingAnswers = 0
    private(set) var goneAfter: Int64?
    var trustsAtOnce = true
    var largestUnread = 0
    /// Called at times with bytes that came.
    var reaction: ((HTTP3Connection, Int64) -> Void)?
    /// One of so many datagrams is lost, in both directions. By chance: every seventh may be each that asks for an
    /// answer, since ngtcp2 asks beside every fourth acknowledgement.
    var loss: Int?
    private var random = PatternRandom(seed: 7)
    private var input = [UInt8](repeating: 0, count: 65_536)

    init(
        to port: Int, configuration: HTTP3Configuration = HTTP3Configuration(), serverName: String? = "localhost",
        resumption: HTTP3Resumption? = nil, allowsEarlyData: Bool = true
    ) throws {
        descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
        guard descriptor >= 0 else { throw POSIXFailure("socket") }
        var size: Int32 = 4 << 20
        setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
        setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &size, socklen_t(MemoryLayout<Int32>.size))
        let remote = Self.address(port)
        let outcome = remote.withUnsafeBytes { bytes in
            bytes.baseAddress.map { connect(descriptor, $0.assumingMemoryBound(to: sockaddr.self), 16) } ?? -1
        }
        guard outcome == 0 else { throw POSIXFailure("connect") }
        session = HTTP3Session(
            configuration: configuration, serverName: serverName,
            endpoints: HTTP3Endpoints(local: Self.localAddress(of: descriptor), remote: remote),
            resumption: resumption, allowsEarlyData: allowsEarlyData, at: Self.now, observer: self)
    }

    deinit { Glibc.close(descriptor) }

    static var now: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    private static func address(_ port: Int) -> [UInt8] {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(truncatingIfNeeded: port).bigEndian
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        return withUnsafeBytes(of: &address) { [UInt8]($0) }
    }

    private static func localAddress(of descriptor: Int32) -> [UInt8] {
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        return withUnsafeMutableBytes(of: &address) { bytes in
            if let start = bytes.baseAddress {
                getsockname(descriptor, start.assumingMemoryBound(to: sockaddr.self), &length)
            }
            return [UInt8](bytes)
        }
    }

    // MARK: Driving

    /// Sends and receives until something is so.
    func run(until isSo: (HTTP3Connection) -> Bool, within limit: Double = 60) throws {
        let end = Self.now + Int64(limit * 1e9)
        while !isSo(self) {
            if Self.now > end { throw Failure(description: "nothing happened for \(limit) s") }
            do throws(HTTP3Error) {
                try step()
            } catch {
                self.error = error
                flush()
                session.fail()
                if isSo(self) { return }
                throw error
            }
        }
    }

    func runUntilComplete() throws {
        try run(until: { $0.isComplete })
    }

    private func step() throws(HTTP3Error) {
        try send()
        var wait: Int32 = 1_000
        if let deadline = session.deadline {
            wait = Int32(clamping: max((deadline - Self.now + 999_999) / 1_000_000, 0))
        }
        var poll = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        _ = Glibc.poll(&poll, 1, min(wait, 50))
        // As the kernel gives them: those of one size together, and one that is shorter behind them.
        var together: [UInt8] = []
        var segment = 0
        for _ in 0..<64 {
            let count = recv(descriptor, &input, input.count, 0)
            if count <= 0 { break }
            if isLost() { continue }
            if count > segment || together.count % max(segment, 1) != 0 {
                try receive(together, segment: segment)
                together = []
            }
            if together.isEmpty { segment = count }
            together += input[..<count]
        }
        try receive(together, segment: segment)
        if let deadline = session.deadline, deadline <= Self.now { try session.handleDeadline(at: Self.now) }
        try send()
    }

    private func receive(_ datagrams: [UInt8], segment: Int) throws(HTTP3Error) {
        if datagrams.isEmpty { return }
        try datagrams.withUnsafeBufferPointer { octets throws(HTTP3Error) in
            try session.receive(UnsafeRawBufferPointer(octets), segment: segment, ecn: 0, at: Self.now)
        }
    }

    private func isLost() -> Bool {
        guard let loss else { return false }
        return random.next(below: loss) == 0
    }

    private func send() throws(HTTP3Error) {
        while let output = try session.nextOutput(at: Self.now) {
            var start = 0
            while start < output.bytes.count {
                let end = min(start + output.segmentSize, output.bytes.count)
                if !isLost() {
                    let datagram = UnsafeRawBufferPointer(rebasing: output.bytes[start..<end])
                    // What the kernel does not take is lost, as on any path.
                    _ = Glibc.send(descriptor, datagram.baseAddress, datagram.count, 0)
                }
                start = end
            }
        }
    }

    /// Sends what there is yet, the last words among it.
    func flush() {
        try? send()
    }

    /// Ends the connection as one does.
    func close() {
        let words = session.close(at: Self.now)
        _ = Glibc.send(descriptor, words, words.count, 0)
        session.fail()
    }

    // MARK: Requests

    @discardableResult
    func submit(
        _ path: String = "/", method: String = "GET", fields: [(String, String)] = [], upload: [UInt8]? = nil,
        keepsBody: Bool = true, isEarly: Bool = false
    ) throws -> Int64 {
        let request = HTTPStreamRequest(
            method: method, scheme: "https", path: path, fields: HTTPFields([("Host", "localhost")] + fields),
            hasBody: upload != nil, contentLength: upload.map { Int64($0.count) })
        let stream = try session.submit(request, isEarly: isEarly)
        var load = Load()
        load.keepsBody = keepsBody
        load.upload = upload.map { $0[...] } ?? []
        loads[stream] = load
        return stream
    }

    func load(
        _ path: String, method: String = "GET", upload: [UInt8]? = nil, keepsBody: Bool = true
    ) throws -> Load {
        let stream = try submit(path, method: method, upload: upload, keepsBody: keepsBody)
        try run(until: { $0.loads[stream]?.isClosed == true })
        return loads[stream] ?? Load()
    }

    // MARK: HTTP3SessionObserver

    func received(informational head: HTTPStreamResponseHead, on stream: Int64) {}

    func received(_ head: HTTPStreamResponseHead, endsStream: Bool, on stream: Int64) {
        loads[stream]?.head = head
    }

    func received(body bytes: UnsafeRawBufferPointer, on stream: Int64) {
        loads[stream]?.byteCount += bytes.count
        if loads[stream]?.keepsBody == true { loads[stream]?.body += bytes }
        if loads[stream]?.isPaused == true {
            loads[stream]?.unread += bytes.count
            largestUnread = max(largestUnread, loads[stream]?.unread ?? 0)
        } else {
            session.consumed(bytes.count, on: stream)
        }
        reaction?(self, stream)
    }

    func responseEnded(on stream: Int64) { loads[stream]?.hasEnded = true }

    func closed(_ stream: Int64, with failure: HTTPStreamFailure?) {
        loads[stream]?.isClosed = true
        loads[stream]?.failure = failure
    }

    func fill(_ buffer: UnsafeMutableRawBufferPointer, withBodyOf stream: Int64) -> HTTPStreamBodyRead {
        guard let upload = loads[stream]?.upload else { return .failed }
        let piece = upload.prefix(buffer.count)
        buffer.copyBytes(from: piece)
        loads[stream]?.upload = upload.dropFirst(piece.count)
        return .bytes(piece.count, isLast: piece.count == upload.count)
    }

    func sentHead(on stream: Int64, byteCount: Int) {
        loads[stream]?.sentHead += byteCount
    }

    func sentBody(on stream: Int64, byteCount: Int, frameByteCount: Int) {
        loads[stream]?.sentBody += byteCount
    }

    func sentRequest(on stream: Int64) { loads[stream]?.isSent = true }
    func peerSettingsChanged() {}
    func peerIsGoingAway(lastStream: Int64) { goneAfter = lastStream }
    func receivedPingAnswer() { pingAnswers += 1 }

    func received(certificates chain: [[UInt8]], cipherSuite: UInt16) {
        chains.append(chain)
        if trustsAtOnce { session.trust() }
    }

    func handshakeCompleted() { isComplete = true }
    func received(_ resumption: HTTP3Resumption) { resumptions.append(resumption) }
}
