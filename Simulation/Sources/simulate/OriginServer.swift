import CSimulation
import Foundation

/// An HTTP/1.1 server on a simulated host. It runs on the thread of the world.
///
///     GET  /content/NUMBER/SIZE            a body of Content
///     GET  /redirect/HOPS/NUMBER/SIZE      to another host of the world
///     POST /post/NUMBER                    answers with the number of octets of the body, which are of Content
final class OriginServer: @unchecked Sendable {
    let name: String
    private let faults: Faults
    private let others: [String]
    private var connections: [Int32: Connection] = [:]
    /// How often each POST was received completely.
    private(set) var posts: [Int: Int] = [:]
    /// How often there was each request.
    private var requests: [String: Int] = [:]

    /// One response in so many: 0 for none.
    struct Faults {
        var reset = 0
        var truncation = 0
        var silence = 0
        var slowness = 0
        var close = 0
        var idleClose = 0
    }

    private struct Connection {
        var received: [UInt8] = []
        var isBusy = false
        var isFinished = false
        /// Grows with each request, so that a timer knows whether the connection was idle since.
        var requests = 0
        /// About the response that is being sent.
        var choices = Choices("")
    }

    private struct Request {
        var method: String
        var target: String
        var body: [UInt8]
    }

    init(name: String, address: UInt32, faults: Faults, others: [String]) {
        self.name = name
        self.faults = faults
        self.others = others
        simulation_add_name(name, address)
        simulation_listen(
            address, 80,
            simulation_listener(
                context: Unmanaged.passUnretained(self).toOpaque(),
                connected: { OriginServer.of($0).connections[$1] = Connection() },
                received: { OriginServer.of($0).receive($1, Array(UnsafeBufferPointer(start: $2, count: Int($3)))) },
                ended: { context, connection, _ in
                    let server = OriginServer.of(context)
                    server.connections[connection] = nil
                    simulation_finish(connection)
                }))
    }

    private static func of(_ context: UnsafeMutableRawPointer?) -> OriginServer {
        // The context is the one that init gave, and servers live as long as the process.
        Unmanaged<OriginServer>.fromOpaque(context!).takeUnretainedValue()
    }

    // MARK: requests

    private func receive(_ number: Int32, _ bytes: [UInt8]) {
        connections[number]?.received += bytes
        answerNext(number)
    }

    private func answerNext(_ number: Int32) {
        guard var connection = connections[number], !connection.isBusy, !connection.isFinished,
            let request = Self.takeRequest(from: &connection.received)
        else { return }
        connection.isBusy = true
        connection.requests += 1
        let line = "\(request.method) \(request.target)"
        requests[line, default: 0] += 1
        connection.choices = Choices("\(name) \(line) \(requests[line, default: 0])")
        connections[number] = connection
        answer(request, on: number, connection.choices)
    }

    private static func takeRequest(from received: inout [UInt8]) -> Request? {
        guard let end = received.firstRange(of: Array("\r\n\r\n".utf8)) else { return nil }
        let lines = String(decoding: received[..<end.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
        let words = lines[0].split(separator: " ")
        Law.require(words.count == 3 && words[2] == "HTTP/1.1", "a request line is right: \(lines[0])")
        var length = 0, isChunked = false
        for line in lines.dropFirst() {
            let field = line.split(separator: ":", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
            Law.require(field.count == 2 || line.hasSuffix(":"), "a field is right: \(line)")
            if field[0].lowercased() == "content-length" { length = Int(field[1]) ?? -1 }
            if field[0].lowercased() == "transfer-encoding" { isChunked = true }
        }
        Law.require(length >= 0 && !isChunked, "a body has a length")
        guard received.count >= end.upperBound + length else { return nil }
        let body = Array(received[end.upperBound..<end.upperBound + length])
        received.removeFirst(end.upperBound + length)
        return Request(method: String(words[0]), target: String(words[1]), body: body)
    }

    // MARK: responses

    private func answer(_ request: Request, on number: Int32, _ choices: Choices) {
        let parts = request.target.split(separator: "/").map(String.init)
        let numbers = parts.dropFirst().compactMap { Int($0) }
        var head = "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nCache-Control: no-store\r\n"
        var body: [UInt8] = []
        switch (request.method, parts.first, numbers.count) {
        case ("GET", "content", 2): body = Content.bytes(numbers[0], 0..<numbers[1])
        case ("GET", "redirect", 3):
            let next = numbers[0] > 1 ? "redirect/\(numbers[0] - 1)" : "content"
            head =
                "HTTP/1.1 302 Found\r\nLocation: http://\(choices.pick(others))/\(next)/\(numbers[1])/\(numbers[2])\r\n"
        case ("POST", "post", 1):
            posts[numbers[0], default: 0] += 1
            Law.require(posts[numbers[0]] == 1, "POST \(numbers[0]) is received once")
            Law.require(Content.isRight(numbers[0], Data(request.body)), "the body of POST \(numbers[0]) is right")
            body = Array("\(request.body.count)".utf8)
        default: Law.require(false, "the server is asked for what exists: \(request.method) \(request.target)")
        }
        var ends = faults.close > 0 && choices.oneIn(faults.close)
        var framed: [UInt8]
        var isDelimited = true
        switch choices.below(3) {
        case 0:
            head += "Content-Length: \(body.count)\r\n"
            framed = body
        case 1:
            head += "Transfer-Encoding: chunked\r\n"
            framed = Self.chunks(body, choices)
        default:
            ends = true
            isDelimited = false
            framed = body
        }
        if ends { head += "Connection: close\r\n" }
        // For the law about lengths.
        if !isDelimited { head += "X-Until-Close: yes\r\n" }
        framed = Array((head + "\r\n").utf8) + framed
        send(framed, on: number, choices, thenCloses: ends)
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

    private func send(_ response: [UInt8], on number: Int32, _ choices: Choices, thenCloses: Bool) {
        func happens(_ fault: Int) -> Bool { fault > 0 && choices.oneIn(fault) }
        if happens(faults.reset) {
            write(response.prefix(choices.below(response.count + 1)), number)
            return simulation_reset(number)
        }
        if happens(faults.truncation) {
            write(response.prefix(choices.below(response.count + 1)), number)
            return finish(number)
        }
        if happens(faults.silence) { return write(response.prefix(choices.below(response.count + 1)), number) }
        sendRest(response[...], on: number, isSlow: happens(faults.slowness), thenCloses: thenCloses)
    }

    private func sendRest(_ rest: ArraySlice<UInt8>, on number: Int32, isSlow: Bool, thenCloses: Bool) {
        guard let connection = connections[number] else { return }
        let choices = connection.choices
        if isSlow, rest.count > 1 {
            let part = rest.prefix(1 + choices.below(rest.count))
            write(part, number)
            return after(choices.seconds(3)) { server in
                server.sendRest(rest.dropFirst(part.count), on: number, isSlow: true, thenCloses: thenCloses)
            }
        }
        write(rest, number)
        if thenCloses { return finish(number) }
        connections[number]?.isBusy = false
        let requests = connection.requests
        if faults.idleClose > 0, choices.oneIn(faults.idleClose) {
            after(choices.seconds(2)) { server in
                guard let connection = server.connections[number], !connection.isBusy, connection.requests == requests
                else { return }
                server.finish(number)
            }
        }
        answerNext(number)
    }

    private func write(_ bytes: ArraySlice<UInt8>, _ number: Int32) {
        bytes.withUnsafeBytes { simulation_send(number, $0.baseAddress, Int64($0.count)) }
    }

    private func finish(_ number: Int32) {
        connections[number]?.isFinished = true
        simulation_finish(number)
    }

    private final class Later {
        let server: OriginServer
        let work: (OriginServer) -> Void
        init(_ server: OriginServer, _ work: @escaping (OriginServer) -> Void) {
            (self.server, self.work) = (server, work)
        }
    }

    private func after(_ delay: simulation_time, _ work: @escaping (OriginServer) -> Void) {
        simulation_after(
            delay,
            {
                // The context is the one below.
                let later = Unmanaged<Later>.fromOpaque($0!).takeRetainedValue()
                later.work(later.server)
            }, Unmanaged.passRetained(Later(self, work)).toOpaque())
    }
}
