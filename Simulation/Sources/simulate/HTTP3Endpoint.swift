import CSimulation
import Foundation

/// HTTP/3 of an origin server, on one connection of QUIC.
final class HTTP3Endpoint {
    private let service: HTTP3Service
    private let listener: HTTP3Listener
    private let number: Int
    // Set at the end of init, and never nil then.
    private var http3: OpaquePointer!
    private var streams: [Int64: MultiplexedStream] = [:]
    /// Complete requests, which are answered when the callbacks are over.
    private var complete: [Int64] = []
    /// Those that are not read.
    private var refused: [Int64] = []
    private(set) var isGoingAway = false
    private var refusesAll = false
    private(set) var isFinished = false
    private var datagrams = 0
    /// When the connection is looked after; never if there is no such time.
    private var wakeUp = simulation_time.max
    /// Grows with each request, so that a timer knows whether the connection was idle since.
    private var requests = 0

    private enum ErrorCode {
        static let none: UInt64 = 0x100, internalError: UInt64 = 0x102
        static let rejected: UInt64 = 0x10b, cancelled: UInt64 = 0x10c
    }

    private var server: OriginServer { service.server }

    /// Nil if no connection begins with the datagram.
    init?(
        of service: HTTP3Service, at address: simulation_address, on listener: HTTP3Listener, from port: UInt16,
        _ datagram: UnsafeBufferPointer<UInt8>
    ) {
        (self.service, self.listener) = (service, listener)
        number = service.server.noteConnection()
        let context = Unmanaged.passUnretained(self).toOpaque()
        http3 = simulation_http3_new(
            service.host,
            simulation_http3_callbacks(
                context: context,
                opened: { HTTP3Endpoint.of($0).opens($1) },
                field: { HTTP3Endpoint.of($0).addField($1, text($2, $3), text($4, $5)) },
                data: { context, stream, bytes, count in
                    let bytes = UnsafeBufferPointer(start: bytes, count: Int(count))
                    HTTP3Endpoint.of(context).streams[stream]?.request.body += bytes
                },
                request: { context, stream, isEarly in
                    HTTP3Endpoint.of(context).streams[stream]?.isEarly = isEarly
                    HTTP3Endpoint.of(context).complete.append(stream)
                },
                closed: { context, stream, _ in HTTP3Endpoint.of(context).streams[stream] = nil },
                body: { HTTP3Endpoint.of($0).takeBody($1, UnsafeMutableBufferPointer(start: $2, count: Int($3)), $4) }),
            address, service.port, port, datagram.baseAddress, Int64(datagram.count))
        if http3 == nil { return nil }
        simulation_note("\(server.name): connection \(number) of QUIC begins")
    }

    deinit { if let http3 { simulation_http3_free(http3) } }

    private static func of(_ context: UnsafeMutableRawPointer?) -> HTTP3Endpoint {
        // The context is the one that init gave, and the callbacks end with the object.
        Unmanaged<HTTP3Endpoint>.fromOpaque(context!).takeUnretainedValue()
    }

    // MARK: callbacks

    /// Whether the request of a new stream is read. The first one always is, so that there is one that the GOAWAY
    /// allows.
    private func opens(_ stream: Int64) -> Bool {
        let choices = Choices("\(server.name) stream \(stream) of connection \(number)")
        if stream > 0, !isGoingAway, service.beginsToRefuse() || server.happens(.abruptGoAway, choices) {
            simulation_note("\(server.name): connection \(number) of QUIC refuses stream \(stream)")
            refusesAll = true
        }
        if refusesAll { refused.append(stream) }
        return !refusesAll
    }

    private func addField(_ stream: Int64, _ name: String, _ value: String) {
        streams[stream, default: MultiplexedStream()].addField(name, value)
    }

    private func takeBody(
        _ stream: Int64, _ buffer: UnsafeMutableBufferPointer<UInt8>, _ isLast: UnsafeMutablePointer<Bool>?
    ) -> Int64 {
        streams[stream]?.takeBody(buffer, isLast) ?? 0
    }

    // MARK: datagrams and time

    func isFor(_ datagram: UnsafeBufferPointer<UInt8>) -> Bool {
        simulation_http3_is_for(http3, datagram.baseAddress, Int64(datagram.count))
    }

    func receive(_ datagram: UnsafeBufferPointer<UInt8>, from port: UInt16, _ mark: UInt8) {
        datagrams += 1
        if datagrams == service.faults.forgetsAfter {
            simulation_note("\(server.name): connection \(number) of QUIC is forgotten")
            return forget()
        }
        let isRight = simulation_http3_receive(http3, port, datagram.baseAddress, Int64(datagram.count), mark)
        Law.require(isRight, "the client sends valid HTTP/3")
        refuseRequests()
        let requests = complete
        complete = []
        for stream in requests where !isFinished { answer(stream) }
        flush()
    }

    private func flush() {
        guard !isFinished else { return }
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 2048) { buffer in
            while true {
                var port: UInt16 = 0
                var mark: UInt8 = 0
                let count = simulation_http3_take(http3, buffer.baseAddress, Int64(buffer.count), &port, &mark)
                guard count > 0 else { break }
                listener.send(UnsafeBufferPointer(rebasing: buffer.prefix(Int(count))), to: port, mark)
            }
        }
        if simulation_http3_is_over(http3) { return forget() }
        plan()
    }

    /// The time that is planned may move later, not earlier.
    private func plan() {
        let expiry = simulation_http3_expiry(http3), now = simulation_now()
        guard expiry < wakeUp else { return }
        wakeUp = expiry
        Later.after(max(expiry - now, 1000)) { [weak self] in self?.wake(expiry) }
    }

    private func wake(_ planned: simulation_time) {
        guard !isFinished, wakeUp == planned else { return }
        wakeUp = .max
        if simulation_http3_expiry(http3) <= simulation_now() { simulation_http3_expire(http3) }
        flush()
    }

    private func forget() {
        isFinished = true
        streams = [:]
        listener.forget(self)
    }

    private func close(_ code: UInt64) {
        guard !isFinished else { return }
        simulation_note("\(server.name): connection \(number) of QUIC is closed")
        simulation_http3_close(http3, code)
        flush()
    }

    // MARK: responses

    private func answer(_ number: Int64) {
        guard let stream = streams[number] else { return }
        requests += 1
        let choices = server.choices(for: stream.request)
        let isQuick = stream.request.target.hasPrefix("/quick")
        if server.happens(.close, choices), !isQuick { goAway() }
        Law.require(!stream.isEarly || stream.request.method == "GET", "what comes early may come again")
        if stream.isEarly { simulation_note("\(server.name): early data") }
        // RFC 8470
        if stream.isEarly, choices.oneIn(4) { return respond(number, OriginServer.Response(status: 425)) }
        // Before it is processed, so that it may be sent again.
        if server.happens(.refusal, choices) { return simulation_http3_reset(http3, number, ErrorCode.rejected) }
        let response = server.response(to: stream.request, choices)
        if server.happens(.earlyReset, choices) {
            return simulation_http3_reset(http3, number, choices.pick([ErrorCode.internalError, ErrorCode.cancelled]))
        }
        if choices.oneIn(8) {
            let fields = [(name: "Link", value: "</style.css>; rel=preload")]
            let interim = OriginServer.Response(status: choices.pick([102, 103]), fields: fields)
            respond(number, interim, isInterim: true)
        }
        streams[number]?.body = response.body[...]
        respond(number, response)
        send(number, choices, isQuick: isQuick)
    }

    private func respond(_ number: Int64, _ response: OriginServer.Response, isInterim: Bool = false) {
        response.withFields {
            simulation_http3_respond(http3, number, $0, $1, !response.body.isEmpty, isInterim)
        }
    }

    private func send(_ number: Int64, _ choices: Choices, isQuick: Bool) {
        let part = choices.below((streams[number]?.body.count ?? 0) + 1)
        if server.happens(.reset, choices) {
            allow(part, on: number)
            if choices.oneIn(2) {
                close(ErrorCode.internalError)
            } else {
                simulation_http3_reset(http3, number, choices.pick([ErrorCode.internalError, ErrorCode.cancelled]))
            }
        } else if server.happens(.truncation, choices) {
            allow(part, on: number)
            close(ErrorCode.none)
        } else if server.happens(.silence, choices) {
            allow(part, on: number)
        } else {
            sendRest(number, choices, isSlow: server.happens(.slowness, choices) && !isQuick)
            closeWhenIdle(choices)
        }
    }

    private func allow(_ count: Int, on number: Int64) {
        streams[number]?.allowed += count
        simulation_http3_resume(http3, number)
        flush()
    }

    private func sendRest(_ number: Int64, _ choices: Choices, isSlow: Bool) {
        guard !isFinished, let stream = streams[number] else { return }
        let rest = stream.body.count - stream.allowed
        guard isSlow, rest > 1 else { return allow(rest, on: number) }
        allow(1 + choices.below(rest - 1), on: number)
        Later.after(choices.seconds(3)) { [self] in sendRest(number, choices, isSlow: true) }
    }

    private func closeWhenIdle(_ choices: Choices) {
        guard server.happens(.idleClose, choices) else { return }
        let requests = requests
        Later.after(choices.seconds(2)) { [self] in
            if streams.isEmpty, self.requests == requests { close(ErrorCode.none) }
        }
    }

    // MARK: GOAWAY

    /// In two steps, so that no request is lost.
    private func goAway() {
        guard !isGoingAway else { return }
        isGoingAway = true
        simulation_http3_announce_end(http3)
        // Later than the slowest round trip.
        Later.after(3 * second) { [self] in
            guard !isFinished else { return }
            simulation_http3_go_away(http3)
            flush()
            Later.after(3 * second) { [self] in closeWhenDone() }
        }
    }

    /// At once, which refuses what the client has sent since.
    private func refuseRequests() {
        guard !isFinished, !refused.isEmpty else { return }
        let choices = Choices("\(server.name) refuses on connection \(number)")
        if !isGoingAway {
            isGoingAway = true
            simulation_http3_go_away(http3)
            // Later than the slowest round trip, as above.
            Later.after(3 * second) { [self] in closeWhenDone() }
        }
        // A server may also keep silent about each of them.
        if choices.oneIn(2) { for stream in refused { simulation_http3_reset(http3, stream, ErrorCode.rejected) } }
        refused = []
    }

    private func closeWhenDone() {
        guard !isFinished else { return }
        if streams.isEmpty { return close(ErrorCode.none) }
        Later.after(second / 2) { [self] in closeWhenDone() }
    }
}
