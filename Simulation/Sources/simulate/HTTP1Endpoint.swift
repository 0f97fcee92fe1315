import CSimulation
import Foundation

/// HTTP/1.1 of an origin server, on one connection.
final class HTTP1Endpoint: Endpoint {
    private let server: OriginServer
    private let wire: any Wire
    private let isSecure: Bool
    private var received: [UInt8] = []
    private var isBusy = false
    private var isFinished = false
    /// Grows with each request, so that a timer knows whether the connection was idle since.
    private var requests = 0

    init(of server: OriginServer, on wire: any Wire, isSecure: Bool) {
        (self.server, self.wire, self.isSecure) = (server, wire, isSecure)
    }

    func receive(_ bytes: [UInt8]) {
        received += bytes
        answerNext()
    }

    func end(isBroken: Bool) { isFinished = true }

    // MARK: requests

    private func answerNext() {
        guard !isBusy, !isFinished, var request = HTTP1Message.takeRequest(from: &received) else { return }
        isBusy = true
        requests += 1
        request.isSecure = isSecure
        let choices = server.choices(for: request)
        answer(server.response(to: request, choices), choices)
    }

    // MARK: responses

    private func answer(_ response: OriginServer.Response, _ choices: Choices) {
        var response = response
        var closes = server.happens(\.close, choices)
        var framed = response.body
        switch choices.below(3) {
        case 0: response.fields.append(("Content-Length", "\(framed.count)"))
        case 1:
            response.fields.append(("Transfer-Encoding", "chunked"))
            framed = Self.chunks(framed, choices)
        default:
            closes = true
            // For the law about lengths.
            response.fields.append(("X-Until-Close", "yes"))
        }
        if closes { response.fields.append(("Connection", "close")) }
        send(HTTP1Message.head(response) + framed, choices, thenCloses: closes)
    }

    private static func chunks(_ body: [UInt8], _ choices: Choices) -> [UInt8] {
        var result: [UInt8] = [], rest = body[...]
        while !rest.isEmpty {
            let part = rest.prefix(1 + choices.below(5000))
            rest = rest.dropFirst(part.count)
            result += Array("\(String(part.count, radix: 16))\r\n".utf8) + part + Array("\r\n".utf8)
        }
        return result + Array("0\r\n\r\n".utf8)
    }

    private func send(_ bytes: [UInt8], _ choices: Choices, thenCloses: Bool) {
        func part() -> [UInt8] { Array(bytes.prefix(choices.below(bytes.count + 1))) }
        if server.happens(\.reset, choices) {
            wire.write(part())
            return wire.reset()
        }
        if server.happens(\.truncation, choices) {
            wire.write(part())
            return finish()
        }
        if server.happens(\.silence, choices) { return wire.write(part()) }
        sendRest(bytes[...], choices, isSlow: server.happens(\.slowness, choices), thenCloses: thenCloses)
    }

    private func sendRest(_ rest: ArraySlice<UInt8>, _ choices: Choices, isSlow: Bool, thenCloses: Bool) {
        guard !isFinished else { return }
        if isSlow, rest.count > 1 {
            let part = rest.prefix(1 + choices.below(rest.count))
            wire.write(Array(part))
            return Later.after(choices.seconds(3)) { [self] in
                sendRest(rest.dropFirst(part.count), choices, isSlow: true, thenCloses: thenCloses)
            }
        }
        wire.write(Array(rest))
        if thenCloses { return finish() }
        isBusy = false
        if server.faults.idleClose > 0, choices.oneIn(server.faults.idleClose) {
            let requests = requests
            Later.after(choices.seconds(2)) { [self] in
                if !isBusy, self.requests == requests { finish() }
            }
        }
        answerNext()
    }

    private func finish() {
        isFinished = true
        wire.finish()
    }
}
