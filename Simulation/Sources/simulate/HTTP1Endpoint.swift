import CSimulation
import Foundation

/// HTTP/1.1 of an origin server or a proxy, on one connection.
final class HTTP1Endpoint: Endpoint {
    /// Nil for a proxy, until a request says which it is for.
    private var server: OriginServer!
    private let proxy: ProxyServer?
    private let wire: any Wire
    private let isSecure: Bool
    /// What the connection has become: a WebSocket, or a tunnel.
    private var successor: (any Endpoint)?
    private var received: [UInt8] = []
    /// Of what was received: octets without an end of a head, and a request whose body is not complete.
    private var searched = 0
    private var incomplete: OriginServer.Request?
    private var isBusy = false
    private var isFinished = false
    /// Both grow, so that a timer knows whether the connection was idle since.
    private var requests = 0, receivedOctets = 0

    init(of server: OriginServer, on wire: any Wire, isSecure: Bool) {
        (self.server, self.wire, self.isSecure) = (server, wire, isSecure)
        proxy = nil
    }

    init(of proxy: ProxyServer, on wire: any Wire) {
        (self.proxy, self.wire, isSecure) = (proxy, wire, false)
    }

    func receive(_ bytes: [UInt8]) {
        if let successor { return successor.receive(bytes) }
        receivedOctets += bytes.count
        received += bytes
        answerNext()
    }

    func end(isBroken: Bool) {
        isFinished = true
        successor?.end(isBroken: isBroken)
    }

    // MARK: requests

    private func answerNext() {
        guard !isBusy, !isFinished, var request = takeRequest() else { return }
        isBusy = true
        requests += 1
        request.isSecure = isSecure
        if let proxy, !passOn(&request, through: proxy) { return }
        let choices = server.choices(for: request)
        if request.values(of: "upgrade") == ["websocket"] { return upgrade(request, choices) }
        answer(server.response(to: request, choices), choices)
    }

    /// Nil if it is not complete.
    private func takeRequest() -> OriginServer.Request? {
        if incomplete == nil {
            guard let (request, length) = HTTP1Message.takeHead(of: received, after: searched) else {
                searched = received.count
                return nil
            }
            received.removeFirst(length)
            searched = 0
            incomplete = request
        }
        guard var request = incomplete, let (body, length) = HTTP1Message.takeBody(of: request, from: received) else {
            return nil
        }
        request.body = body
        received.removeFirst(length)
        incomplete = nil
        return request
    }

    // MARK: a proxy

    /// False if it is answered here.
    private func passOn(_ request: inout OriginServer.Request, through proxy: ProxyServer) -> Bool {
        if let challenge = proxy.challenge(to: request) {
            respond(challenge)
            return false
        }
        request.fields.removeAll { $0.name == "proxy-authorization" }
        if request.method == "CONNECT" {
            connect(request, through: proxy)
            return false
        }
        let target = request.target
        Law.require(target.hasPrefix("http://"), "a proxy gets an absolute URL of http: \(target)")
        let rest = target.dropFirst(7), host = String(rest.prefix { $0 != "/" })
        request.target = String(rest.dropFirst(host.count))
        Law.require(host == request.authority, "Host is that of the URL: \(request.authority) in \(target)")
        guard let server = proxy.host(host) else {
            respond(OriginServer.Response(status: 502))
            return false
        }
        self.server = server
        return true
    }

    private func connect(_ request: OriginServer.Request, through proxy: ProxyServer) {
        let parts = request.target.split(separator: ":").map(String.init)
        Law.require(parts.count == 2 && request.authority == request.target, "CONNECT is to a host: \(request.target)")
        let secrets = request.values(of: "cookie") + request.values(of: "authorization")
        Law.require(secrets.isEmpty, "a proxy gets nothing that is for the host: \(secrets)")
        guard let endpoint = proxy.endpoint(of: parts[0], port: Int(parts[1]) ?? 0, on: wire) else {
            return respond(OriginServer.Response(status: 502))
        }
        successor = endpoint
        wire.write(HTTP1Message.head(OriginServer.Response(status: 200)))
        if !received.isEmpty { endpoint.receive(received) }
        received = []
    }

    /// Without faults.
    private func respond(_ response: OriginServer.Response) {
        var response = response
        response.fields.append(("Content-Length", "\(response.body.count)"))
        wire.write(HTTP1Message.head(response) + response.body)
        isBusy = false
        answerNext()
    }

    // MARK: a WebSocket

    /// GET /echo/NUMBER/LAST: the server closes after message LAST, or the client does if that is 0.
    private func upgrade(_ request: OriginServer.Request, _ choices: Choices) {
        server.check(request)
        let numbers = request.target.split(separator: "/").dropFirst().compactMap { Int($0) }
        Law.require(numbers.count == 2, "a WebSocket is of what exists: \(request.target)")
        let last = numbers[1] > 0 ? numbers[1] : nil
        let endpoint = WebSocketEndpoint(of: server, on: wire, number: numbers[0], lastMessage: last, choices)
        successor = endpoint
        wire.write(HTTP1Message.head(WebSocketEndpoint.acceptance(of: request)))
        if !received.isEmpty { endpoint.receive(received) }
        received = []
    }

    // MARK: responses

    private func answer(_ response: OriginServer.Response, _ choices: Choices) {
        var response = response
        var closes = server.happens(.close, choices)
        var framed = response.body
        // Of a chunked body, where its chunks end.
        var ends: [Int] = []
        let framing = choices.below(3)
        switch framing {
        // It has no body, so that octets of one would be left over.
        case _ where response.status == 304: break
        case 0: response.fields.append(("Content-Length", "\(framed.count)"))
        case 1:
            response.fields.append(("Transfer-Encoding", "chunked"))
            (framed, ends) = Self.chunks(framed, choices)
        default:
            closes = true
            // For the law about lengths.
            response.fields.append(("X-Until-Close", "yes"))
        }
        if closes { response.fields.append(("Connection", "close")) }
        var interim: [UInt8] = []
        if choices.oneIn(8) {
            let fields = [(name: "Link", value: "</style.css>; rel=preload")]
            interim = HTTP1Message.head(OriginServer.Response(status: choices.pick([102, 103]), fields: fields))
        }
        let lifetime = closes ? nil : announceLifetime(in: &response, choices)
        let head = interim + HTTP1Message.head(response)
        send(head + framed, choices, chunkEnds: ends.map { head.count + $0 }, lifetime, thenCloses: closes)
    }

    /// In seconds.
    private func announceLifetime(in response: inout OriginServer.Response, _ choices: Choices) -> Int? {
        guard server.happens(.announcedLifetime, choices) else { return nil }
        let lifetime = 2 + choices.below(8)
        response.fields.append(("Keep-Alive", "timeout=\(lifetime), max=100"))
        return lifetime
    }

    private static func chunks(_ body: [UInt8], _ choices: Choices) -> (octets: [UInt8], ends: [Int]) {
        var result: [UInt8] = [], rest = body[...], ends: [Int] = []
        while !rest.isEmpty {
            let part = rest.prefix(1 + choices.below(5000))
            rest = rest.dropFirst(part.count)
            result += Array("\(String(part.count, radix: 16))\r\n".utf8) + part + Array("\r\n".utf8)
            ends.append(result.count)
        }
        result += Array((choices.oneIn(4) ? "0\r\nX-Trailer: yes\r\n\r\n" : "0\r\n\r\n").utf8)
        return (result, ends)
    }

    private func send(
        _ bytes: [UInt8], _ choices: Choices, chunkEnds: [Int], _ lifetime: Int?, thenCloses: Bool
    ) {
        func part() -> [UInt8] {
            let end = choices.below(bytes.count + 1), isBetweenChunks = choices.oneIn(2) && !chunkEnds.isEmpty
            return Array(bytes.prefix(isBetweenChunks ? choices.pick(chunkEnds) : end))
        }
        if server.happens(.reset, choices) {
            wire.write(part())
            return wire.reset()
        }
        if server.happens(.earlyReset, choices) { return choices.oneIn(2) ? wire.reset() : finish() }
        if server.happens(.truncation, choices) {
            wire.write(part())
            return finish()
        }
        if server.happens(.silence, choices) {
            // Without an octet, nothing wakes the client before its time is over.
            return choices.oneIn(2) ? () : wire.write(part())
        }
        let isSlow = server.happens(.slowness, choices)
        sendRest(bytes[...], choices, isSlow: isSlow, lifetime, thenCloses: thenCloses)
    }

    private func sendRest(
        _ rest: ArraySlice<UInt8>, _ choices: Choices, isSlow: Bool, _ lifetime: Int?, thenCloses: Bool
    ) {
        guard !isFinished else { return }
        if isSlow, rest.count > 1 {
            let part = rest.prefix(1 + choices.below(rest.count))
            wire.write(Array(part))
            return Later.after(choices.seconds(3)) { [self] in
                sendRest(rest.dropFirst(part.count), choices, isSlow: true, lifetime, thenCloses: thenCloses)
            }
        }
        sendLast(rest, choices, thenCloses: thenCloses)
        if thenCloses { return finish() }
        isBusy = false
        // Another host's request may be next on a connection to a proxy, and no fault of that host ends it then.
        if proxy?.isFaultless != true, server.happens(.idleClose, choices) {
            let (requests, octets) = (requests, receivedOctets)
            Later.after(choices.seconds(2)) { [self] in
                if !isBusy, self.requests == requests, receivedOctets == octets { finish() }
            }
        }
        // The end of a slow response is sent before it is noted here, so the next request may be there already.
        if let lifetime, received.isEmpty { expectClose(after: lifetime, idleSince: nil) }
        answerNext()
    }

    /// A client that took what is left over for the next response would have the body of another.
    private func sendLast(_ rest: ArraySlice<UInt8>, _ choices: Choices, thenCloses: Bool) {
        // It comes with the last octet: a client may send its next request after that.
        guard !rest.isEmpty, !thenCloses, server.happens(.leftOver, choices) else { return wire.write(Array(rest)) }
        let end = rest.suffix(1 + choices.below(1000))
        if end.count < rest.count { wire.write(Array(rest.dropLast(end.count))) }
        let body = Array("left over".utf8)
        let head = OriginServer.Response(status: 200, fields: [("Content-Length", "\(body.count)")])
        wire.writeTogether(end + HTTP1Message.head(head) + body)
    }

    /// A client closes an idle connection before the time that the server has announced, in seconds.
    private func expectClose(after lifetime: Int, idleSince: simulation_time?) {
        guard server.isReliable, !isSecure, proxy == nil else { return }
        let octets = receivedOctets, now = simulation_now()
        // The client has had the response at that time at the latest.
        let start = idleSince ?? (wire.isRead ? now : nil)
        if let start, now > start + simulation_time(lifetime + 1) * second {
            return Law.require(false, "an idle connection is closed after \(lifetime) s")
        }
        Later.after(second / 2) { [self] in
            if !isFinished, !isBusy, receivedOctets == octets { expectClose(after: lifetime, idleSince: start) }
        }
    }

    private func finish() {
        isFinished = true
        wire.finish()
    }
}
