import Testing
import URLSessionCommandCore

/// The command lines of `ws` and `connect`.
@Suite struct ConnectionArgumentsTests {
    private func failure(_ line: String) -> UsageError? {
        do throws(UsageError) {
            _ = try Arguments.parse(line.split(separator: " ").map(String.init))
            return nil
        } catch {
            return error
        }
    }

    private func webSocket(_ url: String, _ change: (inout WebSocketOptions) -> Void = { _ in }) -> CommandLineAction {
        var options = WebSocketOptions()
        change(&options)
        return .webSocket(CommandLineRequest(url: url), options)
    }

    @Test(arguments: [
        ("ws://h/a", "ws://h/a"), ("wss://h", "wss://h"), ("http://h:1/", "ws://h:1/"), ("HTTPS://h/", "wss://h/"),
        ("example.org/a", "wss://example.org/a"), ("localhost:8080", "ws://localhost:8080"),
        (":8080/a", "ws://localhost:8080/a"),
    ])
    func urls(_ given: String, _ url: String) throws {
        #expect(try Arguments.parse(["ws", given]) == webSocket(url))
    }

    @Test func webSocketSwitches() throws {
        let line =
            "ws ws://h/ --protocol a --protocol=b --binary --whole --ping 20 --compressed --max-message 16M "
            + "--wait 0.5"
        #expect(
            try Arguments.parse(line.split(separator: " ").map(String.init))
                == webSocket("ws://h/") {
                    $0.protocols = ["a", "b"]
                    $0.isBinary = true
                    $0.sendsWhole = true
                    $0.pingInterval = 20
                    $0.isCompressed = true
                    $0.maximumMessageSize = 16 << 20
                    $0.wait = 0.5
                })
    }

    @Test func sharedSwitches() throws {
        var request = CommandLineRequest(url: "ws://h/")
        request.headers = [.set(name: "A", value: "1")]
        request.isInsecure = true
        request.verbosity = 1
        request.timeout = 3
        #expect(
            try Arguments.parse(["ws", "ws://h/", "-kv", "-m3", "-H", "A: 1"])
                == .webSocket(request, WebSocketOptions()))
    }

    @Test(arguments: [("1", 1), ("64K", 65_536), ("2m", 2 << 20), ("1G", 1 << 30)])
    func sizes(_ text: String, _ size: Int) throws {
        #expect(
            try Arguments.parse(["ws", "ws://h/", "--max-message", text])
                == webSocket("ws://h/") { $0.maximumMessageSize = size })
    }

    @Test(arguments: [
        ("ws", "'ws' needs a URL"),
        ("ws a b", "one WebSocket at a time; 'b' is one too many"),
        ("ws ftp://h/", "a WebSocket has a ws: or wss: URL, not ftp:"),
        ("ws h --max-message 1T", "--max-message needs a number of bytes, or 64K, 16M, 1G, not '1T'"),
        ("ws h --max-message 0", "--max-message needs a number of bytes, or 64K, 16M, 1G, not '0'"),
        ("ws h --max-message 9999999999999G", "--max-message: '9999999999999G' is too large"),
        ("ws h --ping 0", "--ping needs a number of seconds above zero, not '0'"),
        ("ws h --protocol a,b", "'a,b' is not the name of a subprotocol"),
        ("ws h -d x", "'ws' does not take --data"),
        ("ws h --http2", "'ws' does not take --http2"),
        ("ws h --har -", "standard output has the messages: use --har FILE"),
        ("ws h --tls", "--tls belongs to 'connect'"),
        ("h --ping 3", "--ping belongs to 'ws'"),
        ("download h --starttls smtp", "--starttls belongs to 'connect'"),
        ("connect", "'connect' needs a host and a port"),
        ("connect a 1 2", "'connect' needs a host and a port"),
        ("connect a", "a port is missing: 'connect a PORT'"),
        ("connect a 65536", "a port is a number from 1 to 65535, not '65536'"),
        ("connect a:http", "a port is a number from 1 to 65535, not 'http'"),
        ("connect ::1:25", "put an IPv6 address in brackets ([::1]:25), or the port after a space"),
        ("connect a/b 25", "'a/b' is not a host"),
        ("connect a 25 --tls --starttls smtp", "--tls and --starttls exclude each other, and one --starttls is enough"),
        (
            "connect a 25 --starttls gopher",
            "--starttls knows smtp, imap, pop3, ftp, ldap, xmpp, postgres, not 'gopher'"
        ),
        ("connect a 25 -H A:1", "'connect' does not take --header"),
    ])
    func refusedLines(_ line: String, _ message: String) {
        #expect(failure(line)?.message == message)
    }

    @Test(arguments: [
        ("connect h 25", "h", 25), ("connect h:25", "h", 25), ("connect [::1]:25", "::1", 25),
        ("connect ::1 25", "::1", 25), ("connect [::1] 25", "::1", 25),
    ])
    func addresses(_ line: String, _ host: String, _ port: Int) throws {
        let options = ConnectOptions(host: host, port: port)
        #expect(
            try Arguments.parse(line.split(separator: " ").map(String.init))
                == .connect(CommandLineRequest(url: host == "h" ? "tcp://h:25" : "tcp://[::1]:25"), options))
    }

    @Test(
        arguments: [
            ("--tls", .fromTheStart), ("--starttls smtp", .after(.smtp)), ("--starttls=POP3", .after(.pop3)),
        ] as [(String, ConnectOptions.Security)])
    func security(_ switches: String, _ security: ConnectOptions.Security) throws {
        var options = ConnectOptions(host: "h", port: 25)
        options.security = security
        #expect(
            try Arguments.parse(["connect", "h", "25"] + switches.split(separator: " ").map(String.init))
                == .connect(CommandLineRequest(url: "tcp://h:25"), options))
    }
}
