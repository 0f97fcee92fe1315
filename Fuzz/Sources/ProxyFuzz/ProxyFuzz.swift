import FuzzDriver
import LoadingProtocols
import LoadingSemantics

/// The package manager makes this the program's main function, by this name.
@_cdecl("ProxyFuzz_main")
func main(_ argumentCount: Int32, _ arguments: UnsafeMutableRawPointer) -> Int32 {
    runFuzzer(argumentCount, arguments) { testOneInput($0, $1) }
}

/// The first octet chooses what is read and how; the rest is what a proxy, a script or a user has written.
@_cdecl("LLVMFuzzerTestOneInput")
func testOneInput(_ start: UnsafePointer<UInt8>, _ count: Int) -> Int32 {
    guard count > 0 else { return 0 }
    let choice = start[0] >> 3
    let bytes = Array(UnsafeBufferPointer(start: start + 1, count: count - 1))
    switch start[0] & 7 {
    case 0: checkHandshake(bytes, choice)
    case 1: checkTunnel(bytes, choice)
    case 2: checkServer(String(decoding: bytes, as: UTF8.self))
    case 3: checkScript(String(decoding: bytes, as: UTF8.self))
    case 4: checkExclusions(String(decoding: bytes, as: UTF8.self))
    case 5: checkDestination(String(decoding: bytes, as: UTF8.self))
    default: checkInquiry(String(decoding: bytes, as: UTF8.self))
    }
    return 0
}

private func checkHandshake(_ bytes: [UInt8], _ choice: UInt8) {
    let proxies = ["socks5://p", "socks5://u:p@p", "socks4://p", "socks4://u@p"]
    let hosts = ["server.example", "10.0.0.1", "2001:db8::1", ""]
    guard let server = ProxyServer(proxies[Int(choice & 3)]) else { preconditionFailure("a proxy is not read") }
    let destination = ProxyDestination(traffic: .https, host: hosts[Int(choice >> 2 & 3)], port: 443)
    let whole = HandshakeRun(bytes, to: destination, through: server, pieceLength: max(1, bytes.count))
    precondition(whole == HandshakeRun(bytes, to: destination, through: server, pieceLength: 1), "a cut changes it")
    precondition(whole == HandshakeRun(bytes, to: destination, through: server, pieceLength: 3), "a cut changes it")
    precondition(whole.actions.count <= 4, "more is said than there is to say")
    let ends = whole.actions.indices.filter { if case .send = whole.actions[$0] { false } else { true } }
    precondition(ends == [whole.actions.count - 1], "no end, or something after it")
    if whole.actions.last == .open { precondition(bytes.count - whole.rest >= 7, "open without an answer") }
}

private func checkTunnel(_ bytes: [UInt8], _ choice: UInt8) {
    let limits =
        choice & 1 == 0
        ? ConnectTunnelLimits()
        : ConnectTunnelLimits(
            response: HTTP1Limits(maximumHeadLength: 64, maximumFieldCount: 2, maximumInformationalResponses: 1),
            maximumChallengeLength: 8)
    let whole = TunnelRun(bytes, limits: limits, pieceLength: max(1, bytes.count)).events
    precondition(whole == TunnelRun(bytes, limits: limits, pieceLength: 1).events, "a cut changes it")
    precondition(whole == TunnelRun(bytes, limits: limits, pieceLength: 3).events, "a cut changes it")
    let ends = whole.indices.filter { if case .challenged = whole[$0] { false } else { true } }
    precondition(ends == [whole.count - 1] && whole.count <= 2, "no end, or something after it")
    if case .open(let head)? = whole.last { precondition((200...299).contains(head.status)) }
    if case .refused(let head)? = whole.last { precondition(head.status >= 300 && head.status != 407) }
}

private func checkServer(_ text: String) {
    guard let server = ProxyServer(text) else { return }
    check(server)
    guard let credential = server.credential else { return }
    precondition("\(credential)" == "a user and a password")
}

/// A proxy is one that can be written down and read again.
private func check(_ server: ProxyServer) {
    precondition(server.port > 0 && !server.host.isEmpty)
    let marks = " /?#@[]\\\r\n\t\0".utf8
    precondition(!server.host.utf8.contains(where: marks.contains), "more than a host")
    var plain = server
    plain.credential = nil
    precondition(ProxyServer(server.url) == plain, "another one when read again")
}

private func checkScript(_ text: String) {
    let ways = PACResult(text).route.routes
    for case .through(let server) in ways { precondition(server.credential == nil) }
    // What libproxy writes is a list of the same kind.
    for ways in [ways, ProxyRouteList(desktop: text).routes] {
        precondition(ways.count <= PACResult.Limit.routes && Set(ways).count == ways.count)
        for case .through(let server) in ways { check(server) }
    }
}

private func checkExclusions(_ text: String) {
    let environment = ProxyRules(system: ProxyEnvironment(["all_proxy": "p", "no_proxy": text]))
    let dictionary = ProxyRules(
        dictionary: ProxyDictionary([
            "SOCKSEnable": .number(1), "SOCKSProxy": .text("p"),
            "ExceptionsList": .texts(text.split(separator: ",").map(String.init)),
            "ExcludeSimpleHostnames": .number(text.utf8.count & 1),
        ]),
        system: ProxyEnvironment([:]))
    let configured = ProxyRules(
        configurations: [
            ProxyConfigurationRules(server: ProxyServer("p"), matchDomains: text.split(separator: ",").map(String.init))
        ],
        system: ProxyEnvironment([:]))
    for host in ["a.example.com", "localhost", "10.1.2.3", "2001:db8::1", "::ffff:10.1.2.3", "intranet", ""] {
        let destination = ProxyDestination(traffic: .other, host: host, port: 80)
        for rules in [environment, dictionary] {
            precondition(rules.route(for: destination).routes.count == 1, "a route forks")
        }
        // No host is reachable if none of the domains that there are is valid.
        precondition(configured.route(for: destination).routes.count <= 1, "a route forks")
    }
}

private func checkDestination(_ text: String) {
    let destination = ProxyDestination(traffic: .https, host: text, port: 443)
    let rules = ProxyRules(
        system: ProxyEnvironment(["https_proxy": "p", "no_proxy": "10/8,example.com,*.local:443,\(text)"]))
    precondition(rules.route(for: destination).routes.count == 1)
    var tunnel = ConnectTunnel(to: destination)
    guard let request = try? tunnel.request(userAgent: text, authorization: text) else { return }
    precondition(request.count(where: { $0 == 0x0A }) == 5, "more or fewer lines than fields")
}

private func checkInquiry(_ text: String) {
    guard let url = try? HTTPURL(text) else { return }
    let query = ProxyQuery(url)
    guard let shown = try? HTTPURL(query.url) else { preconditionFailure("an address that is none") }
    precondition(shown.host == url.host.prefix { $0 != "%" } && shown.port == url.port && shown.userinfo == nil)
    if url.scheme.isSecure { precondition(Array(shown.target) == Array("/".utf8), "more than the host") }
}
