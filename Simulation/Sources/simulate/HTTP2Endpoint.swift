import CSimulation
import Foundation

/// HTTP/2 of an origin server, on one connection.
final class HTTP2Endpoint: Endpoint {
    private let server: OriginServer
    private let wire: any Wire
    // Set at the end of init, and never nil then.
    private var http2: OpaquePointer!
    private var streams: [Int32: MultiplexedStream] = [:]
    /// Complete requests, which are answered when the callbacks are over.
    private var complete: [Int32] = []
    /// Streams after it are not processed.
    private var lastStream = Int32.max
    private var isGoingAway = false
    private var isFinished = false

    private enum ErrorCode {
        static let none: UInt32 = 0, cancel: UInt32 = 8, refusedStream: UInt32 = 7, internalError: UInt32 = 2
    }

    init(of server: OriginServer, on wire: any Wire, window: UInt32, mostStreams: UInt32) {
        (self.server, self.wire) = (server, wire)
        let context = Unmanaged.passUnretained(self).toOpaque()
        http2 = simulation_http2_new(
            simulation_http2_callbacks(
                context: context,
                field: { HTTP2Endpoint.of($0).addField($1, text($2, $3), text($4, $5)) },
                data: { context, stream, bytes, count in
                    let bytes = UnsafeBufferPointer(start: bytes, count: Int(count))
                    HTTP2Endpoint.of(context).streams[stream]?.request.body += bytes
                },
                request: { HTTP2Endpoint.of($0).complete.append($1) },
                closed: { context, stream, _ in HTTP2Endpoint.of(context).streams[stream] = nil },
                body: { HTTP2Endpoint.of($0).takeBody($1, UnsafeMutableBufferPointer(start: $2, count: Int($3)), $4) }),
            window, mostStreams)
        flush()
    }

    deinit { simulation_http2_free(http2) }

    private static func of(_ context: UnsafeMutableRawPointer?) -> HTTP2Endpoint {
        // The context is the one that init gave, and the callbacks end with the object.
        Unmanaged<HTTP2Endpoint>.fromOpaque(context!).takeUnretainedValue()
    }

    // MARK: callbacks

    private func addField(_ stream: Int32, _ name: String, _ value: String) {
        streams[stream, default: MultiplexedStream()].addField(name, value)
    }

    private func takeBody(
        _ stream: Int32, _ buffer: UnsafeMutableBufferPointer<UInt8>, _ isLast: UnsafeMutablePointer<Bool>?
    ) -> Int64 {
        streams[stream]?.takeBody(buffer, isLast) ?? 0
    }

    // MARK: Endpoint

    func receive(_ bytes: [UInt8]) {
        guard !isFinished else { return }
        Law.require(simulation_http2_receive(http2, bytes, Int64(bytes.count)), "the client sends valid HTTP/2")
        let requests = complete
        complete = []
        for stream in requests where !isFinished && stream <= lastStream { answer(stream) }
        flush()
    }

    func end(isBroken: Bool) {
        isFinished = true
        streams = [:]
    }

    private func flush() {
        guard !isFinished else { return }
        var bytes: UnsafePointer<UInt8>?
        while true {
            let count = simulation_http2_take(http2, &bytes)
            guard count > 0 else { break }
            wire.write(Array(UnsafeBufferPointer(start: bytes, count: Int(count))))
        }
        if isGoingAway, lastStream != .max, streams.isEmpty { finish() }
    }

    private func finish() {
        guard !isFinished else { return }
        isFinished = true
        wire.finish()
    }

    // MARK: responses

    private func answer(_ number: Int32) {
        guard let stream = streams[number] else { return }
        let choices = server.choices(for: stream.request)
        let isQuick = stream.request.target.hasPrefix("/quick")
        if isQuick { noteUnread() }
        if server.happens(.close, choices), !isQuick { goAway(number, choices) }
        if number > lastStream { return }
        if choices.oneIn(8) { simulation_http2_ping(http2) }
        // Before it is processed, so that it may be sent again.
        if server.happens(.refusal, choices) { return simulation_http2_reset(http2, number, ErrorCode.refusedStream) }
        let response = server.response(to: stream.request, choices)
        if server.happens(.earlyReset, choices) {
            return simulation_http2_reset(http2, number, choices.pick([ErrorCode.internalError, ErrorCode.cancel]))
        }
        streams[number]?.body = response.body[...]
        respond(number, response)
        send(number, choices, isQuick: isQuick)
    }

    private func respond(_ number: Int32, _ response: OriginServer.Response) {
        response.withFields { simulation_http2_respond(http2, number, $0, $1, !response.body.isEmpty) }
    }

    /// The window of a connection has room again when an unread response is cancelled.
    private func noteUnread() {
        let last = server.unread
        server.unread = self
        guard server.isReliable, let last, last !== self else { return }
        Law.require(last.isGoingAway, "unread responses that were cancelled fill no connection")
    }

    private func send(_ number: Int32, _ choices: Choices, isQuick: Bool) {
        let part = choices.below((streams[number]?.body.count ?? 0) + 1)
        if server.happens(.reset, choices) {
            streams[number]?.allowed = part
            flush()
            if choices.oneIn(2) {
                wire.reset()
                isFinished = true
            } else {
                simulation_http2_reset(http2, number, choices.pick([ErrorCode.internalError, ErrorCode.cancel]))
            }
        } else if server.happens(.truncation, choices) {
            streams[number]?.allowed = part
            flush()
            finish()
        } else if server.happens(.silence, choices) {
            streams[number]?.allowed = part
        } else {
            sendRest(number, choices, isSlow: server.happens(.slowness, choices) && !isQuick)
        }
    }

    private func sendRest(_ number: Int32, _ choices: Choices, isSlow: Bool) {
        guard !isFinished, let stream = streams[number] else { return }
        let rest = stream.body.count - stream.allowed
        if isSlow, rest > 1 {
            streams[number]?.allowed += 1 + choices.below(rest - 1)
            Later.after(choices.seconds(3)) { [self] in sendRest(number, choices, isSlow: true) }
        } else {
            streams[number]?.allowed += rest
        }
        simulation_http2_resume(http2, number)
        flush()
    }

    // MARK: GOAWAY

    /// In two steps, so that no request is lost, or at once, which a client sees as a refusal of what it has sent
    /// since.
    private func goAway(_ number: Int32, _ choices: Choices) {
        guard !isGoingAway else { return }
        isGoingAway = true
        if server.happens(.abruptGoAway, choices) {
            lastStream = max(0, number - 2 * Int32(choices.below(3)))
            return simulation_http2_go_away(
                http2, lastStream, choices.oneIn(2) ? ErrorCode.none : ErrorCode.internalError)
        }
        simulation_http2_announce_end(http2)
        // Later than the slowest round trip.
        Later.after(3 * second) { [self] in
            guard !isFinished else { return }
            lastStream = simulation_http2_last_stream(http2)
            simulation_http2_go_away(http2, lastStream, 0)
            flush()
        }
    }
}
