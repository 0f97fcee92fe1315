import CSimulation
import Foundation

/// What a simulated host answers, whatever the protocol. It runs on the thread of the world.
///
///     GET  /content/NUMBER/SIZE            a body of Content
///     GET  /quick/NUMBER/SIZE              the same: over HTTP/2 it never comes slowly, and no GOAWAY comes with it
///     GET  /alone/START/NUMBER/SIZE        the same, of a request that began at START, in milliseconds
///     GET  /redirect/HOPS/NUMBER/SIZE      to another host of the world
///     GET  /passed/HOPS/NUMBER/SIZE        the same, and at last to a body without a validator
///     GET  /cached/NUMBER/SIZE             the same with a validator, and now and then with other content
///     GET  /basic/NUMBER/SIZE              a body of Content, for the right password
///     GET  /digest/NUMBER/SIZE
///     GET  /large/NUMBER/SIZE              as cached, and not stored: with ranges, so that a download can be resumed
///     POST /forward/HOPS/NUMBER            to another host, with its body
///     PUT  /store/NUMBER                   takes the body, which is of Content, any number of times. Also POST
///     POST /post/NUMBER                    answers with the number of octets of the body, which are of Content
final class OriginServer: @unchecked Sendable {
    // Sendable because everything but init runs on the thread of the world, and init runs before its first request.
    let name: String
    let faults: Faults
    /// Nothing is wrong between it and the client.
    let isReliable: Bool
    private let others: [String]
    private let tls: OpaquePointer
    private let limits: (window: UInt32, streams: UInt32)
    /// How often each POST was received completely.
    private var posts: [Int: Int] = [:]
    /// When each was asked for first.
    private(set) var arrivals: [String: simulation_time] = [:]
    /// How many octets of each body it has, of those that may come again.
    private(set) var stored: [Int: Int] = [:]
    /// How often there was each request.
    private var requests: [String: Int] = [:]
    private let area: PrivateArea
    /// The connection of the last unread response.
    var unread: HTTP2Endpoint?
    /// Nil without HTTP/3.
    private var http3: HTTP3Service?
    private var quicConnections = 0
    /// Whether FTP has nothing for anonymous users.
    let needsLoginForFTP: Bool
    private var lastPortOfFTP: UInt16 = 20_000
    /// Of what may be cached, by number.
    private var versions: [Int: Int] = [:]

    enum Fault: String {
        case reset
        /// Before the first octet of a response to what was processed.
        case earlyReset = "reset before the response"
        case truncation, silence, slowness, close
        case idleClose = "close while idle"
        /// A 304 about another version than those that the client has.
        case wrongConfirmation = "wrong confirmation"
        /// More than the response.
        case leftOver = "octets are left over"
        /// How long it keeps an idle connection.
        case announcedLifetime = "announced lifetime"
        /// Of HTTP/2.
        case refusal
        case abruptGoAway = "abrupt GOAWAY"
    }

    struct Faults {
        /// One response in so many.
        var rates: [Fault: Int] = [:]
        var missingCloseNotify = false
    }

    struct Request {
        var method: String
        var target: String
        var authority = ""
        /// Names in lower case.
        var fields: [(name: String, value: String)] = []
        var body: [UInt8] = []
        var isSecure = false

        func values(of name: String) -> [String] { fields.filter { $0.name == name }.map(\.value) }
    }

    struct Response {
        var status: Int
        var fields: [(name: String, value: String)] = []
        var body: [UInt8] = []
    }

    init(
        name: String, addresses: [simulation_address], faults: Faults, others: [String], isReliable: Bool,
        tls: simulation_tls_options, http3 offer: HTTP3Service.Offer? = nil
    ) {
        self.name = name
        self.isReliable = isReliable
        self.faults = faults
        self.others = others
        area = PrivateArea(of: name)
        needsLoginForFTP = Choices("\(name) over FTP").oneIn(3)
        // It fails only without memory.
        self.tls = simulation_tls_host_new(name, tls)!
        let choices = Choices("\(name) in HTTP/2")
        limits = (
            window: choices.pick([65_535, 1 << 20, UInt32(2000 + choices.below(10_000))]),
            streams: choices.pick([100, 3, 1])
        )
        for address in addresses {
            for (port, isSecure) in [(UInt16(80), false), (443, true)] {
                _ = Listener(address, port: port) { [self] in endpoint(on: $0, isSecure: isSecure) }
            }
            _ = Listener(address, port: 21) { [self] in FTPEndpoint(of: self, on: $0, at: address) }
        }
        if let offer { http3 = HTTP3Service(of: self, tls: self.tls, addresses: addresses, offer) }
    }

    /// For a data connection.
    func nextPortForFTP() -> UInt16 {
        lastPortOfFTP += 1
        return lastPortOfFTP
    }

    /// The number of a new connection of QUIC.
    func noteConnection() -> Int {
        quicConnections += 1
        return quicConnections
    }

    func endpoint(on wire: any Wire, isSecure: Bool) -> any Endpoint {
        guard isSecure else { return HTTP1Endpoint(of: self, on: wire, isSecure: false) }
        return TLSEndpoint(on: wire, of: tls, sendsCloseNotify: !faults.missingCloseNotify) { [self] wire, isHTTP2 in
            guard isHTTP2 else { return HTTP1Endpoint(of: self, on: wire, isSecure: true) }
            return HTTP2Endpoint(of: self, on: wire, window: limits.window, mostStreams: limits.streams)
        }
    }

    func happens(_ fault: Fault, _ choices: Choices) -> Bool {
        let rate = faults.rates[fault]
        guard choices.oneIn(rate ?? 1), rate != nil else { return false }
        simulation_note("\(name): \(fault.rawValue)")
        return true
    }

    /// About the response to this request.
    func choices(for request: Request) -> Choices {
        let line = "\(request.method) \(request.target)"
        requests[line, default: 0] += 1
        if arrivals[request.target] == nil { arrivals[request.target] = simulation_now() }
        return Choices("\(name) \(line) \(requests[line, default: 0])")
    }

    /// What holds for every request. Returns whether it has the right password.
    @discardableResult func check(_ request: Request) -> PrivateArea.Verdict {
        Law.require(request.authority == name, "a request for \(request.authority) does not reach \(name)")
        let secrets = request.values(of: "proxy-authorization")
        Law.require(secrets.isEmpty, "a host gets nothing that is for the proxy: \(secrets)")
        checkCookies(request)
        return area.verdict(on: request)
    }

    func response(to request: Request, _ choices: Choices) -> Response {
        let verdict = check(request)
        let parts = request.target.split(separator: "/").map(String.init)
        let numbers = parts.dropFirst().compactMap { Int($0) }
        var response = Response(
            status: 200, fields: [("Content-Type", "application/octet-stream"), ("Cache-Control", "no-store")])
        switch (request.method, parts.first, numbers.count) {
        case ("GET", "content", 2), ("GET", "quick", 2): response.body = Content.bytes(numbers[0], 0..<numbers[1])
        case ("GET", "alone", 3):
            let delay = simulation_now() / 1_000_000 - simulation_time(numbers[0])
            // The addresses of the name come within a second, and some of them may be dead.
            Law.require(delay < 20_000, "a request that is alone arrives at once: after \(delay) ms")
            response.body = Content.bytes(numbers[1], 0..<numbers[2])
        case ("GET", "cached", 2), ("GET", "large", 2):
            response = versionedResponse(to: request, numbers[0], size: numbers[1], choices)
        case ("GET", "basic", 2), ("GET", "digest", 2):
            if let challenge = area.challenge(after: verdict, isDigest: parts.first == "digest", choices) {
                response = challenge
            } else {
                response.body = Content.bytes(numbers[0], 0..<numbers[1])
            }
        case ("GET", "redirect", 3), ("GET", "passed", 3):
            let isPassed = parts.first == "passed"
            let last = isPassed ? "content" : choices.pick(["content", "content", "cached"])
            let next = numbers[0] > 1 ? "\(isPassed ? "passed" : "redirect")/\(numbers[0] - 1)" : last
            let scheme = choices.oneIn(2) ? "http" : "https"
            let target = "\(scheme)://\(choices.pick(others))/\(next)/\(numbers[1])/\(numbers[2])"
            response = Response(status: 302, fields: [("Location", target)])
        case ("POST", "forward", 2):
            checkBody(of: request, numbers[1])
            let path = numbers[0] > 1 ? "forward/\(numbers[0] - 1)/\(numbers[1])" : "post/\(numbers[1])"
            let target = "\(choices.pick(["http", "https"]))://\(choices.pick(others))/\(path)"
            response = Response(status: choices.pick([307, 308]), fields: [("Location", target)])
        case ("PUT", "store", 1), ("POST", "store", 1):
            checkBody(of: request, numbers[0])
            stored[numbers[0]] = request.body.count
        case ("POST", "post", 1):
            posts[numbers[0], default: 0] += 1
            Law.require(posts[numbers[0]] == 1, "POST \(numbers[0]) is received once")
            checkBody(of: request, numbers[0])
            response.body = Array("\(request.body.count)".utf8)
        default: Law.require(false, "the server is asked for what exists: \(request.method) \(request.target)")
        }
        addCookies(to: &response, isSecure: request.isSecure, choices)
        if let http3, request.isSecure || Choices("\(name) \(request.target) Alt-Svc").oneIn(2) {
            response.fields.append(("Alt-Svc", "h3=\":\(http3.port)\"; ma=86400"))
        }
        return response
    }

    private func checkBody(of request: Request, _ number: Int) {
        Law.require(Content.isRight(number, Data(request.body)), "the body of POST \(number) is right")
    }

    // MARK: what has versions

    private func versionedResponse(to request: Request, _ number: Int, size: Int, _ choices: Choices) -> Response {
        let conditions = request.values(of: "if-none-match")
        let isWronglyConfirmed = !conditions.isEmpty && happens(.wrongConfirmation, choices)
        if choices.oneIn(4) || isWronglyConfirmed { versions[number, default: 0] += 1 }
        let content = Content.number(number, version: versions[number, default: 0])
        let tag = "\"\(name)/\(content)\""
        for field in conditions {
            Law.require(field.hasPrefix("\"\(name)/"), "a validator reaches the host that it is from: \(field)")
        }
        let isCached = request.target.hasPrefix("/cached")
        let freshness = !isCached ? "no-store" : choices.pick(["max-age=2", "max-age=60", "no-cache"])
        let fields = [
            ("ETag", tag), ("Accept-Ranges", "bytes"), ("Cache-Control", freshness), ("X-Content", "\(content)"),
        ]
        if conditions.contains(tag) || isWronglyConfirmed {
            return Response(status: 304, fields: fields)
        }
        if let range = request.values(of: "range").first {
            let first = range.dropFirst("bytes=".count).split(separator: "-").first.flatMap { Int($0) } ?? -1
            Law.require(
                range.hasPrefix("bytes=") && first >= 0 && first <= size, "a range is of what there is: \(range)")
            let conditions = request.values(of: "if-range")
            Law.require(conditions.count == 1, "a range has the validator of the first part")
            Law.require(conditions[0].hasPrefix("\"\(name)/"), "a validator is of its host: \(conditions[0])")
            if conditions == [tag] {
                guard first < size else {
                    return Response(status: 416, fields: [("Content-Range", "bytes */\(size)")])
                }
                let place = ("Content-Range", "bytes \(first)-\(size - 1)/\(size)")
                return Response(
                    status: 206, fields: fields + [place], body: Content.bytes(content, first..<size))
            }
        }
        return Response(status: 200, fields: fields, body: Content.bytes(content, 0..<size))
    }

    // MARK: cookies

    private func checkCookies(_ request: Request) {
        for pair in request.values(of: "cookie").flatMap({ $0.components(separatedBy: "; ") }) {
            let isOwn = pair == "owner=\(name)" || request.isSecure && pair == "guarded=\(name)"
            Law.require(isOwn, "cookies reach only the host that set them: \(pair) at \(name)")
        }
    }

    private func addCookies(to response: inout Response, isSecure: Bool, _ choices: Choices) {
        if choices.oneIn(2) { response.fields.append(("Set-Cookie", "owner=\(name); Path=/")) }
        if choices.oneIn(4), isSecure { response.fields.append(("Set-Cookie", "guarded=\(name); Path=/; Secure")) }
        // What a client has to refuse.
        let domain = choices.pick(others + ["example"])
        if choices.oneIn(4), domain != name {
            response.fields.append(("Set-Cookie", "owner=\(name); Domain=\(domain); Path=/"))
        }
    }
}
