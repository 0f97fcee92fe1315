import Foundation
import Testing

@testable import URLSessionCommandCore

/// Switches that need or exclude each other, with every command: what would have no effect is refused.
@Suite struct CombinationTests {
    /// Command lines without switches.
    private static let commands = [
        "h/a", "get h/a", "post h/a", "h/a h/b", "upload f h/a", "download h/a", "download h/a f", "ws h/a",
        "connect h 25", "background add h/a",
    ]

    /// Switches that cannot be kept, and the message of each command that takes them.
    private static let refused = [
        ("-U u:p", "-U needs the proxy: -x URL"),
        ("-U u:p -x=", "-U needs the proxy: -x URL"),
        ("-x p --unix-socket s", "-x and --unix-socket exclude each other"),
        ("--abstract-unix-socket s -x p", "-x and --abstract-unix-socket exclude each other"),
        ("-x p --resolve h:443:127.0.0.1", "-x and --resolve exclude each other"),
        ("--connect-to h:443:i:443 -x p", "-x and --connect-to exclude each other"),
        ("--unix-socket s --resolve h:443:127.0.0.1", "--unix-socket and --resolve exclude each other"),
        ("--connect-to h:443:i:443 --unix-socket s", "--unix-socket and --connect-to exclude each other"),
        (
            "--abstract-unix-socket s --resolve h:443:127.0.0.1",
            "--abstract-unix-socket and --resolve exclude each other"
        ),
        ("--key k", "--key needs the certificate: --cert FILE"),
        ("--pass p", "--pass needs the certificate: --cert FILE"),
        ("--key k --pass p", "--key needs the certificate: --cert FILE"),
        ("--tls-max 1.1", "--tls-max 1.1 needs --tls-min: TLS 1.2 is the lowest by default"),
        ("--tls-min 1.3 --tls-max 1.2", "--tls-max is lower than --tls-min"),
        ("--tls-max 1.2 --tlsv1.3", "--tls-max is lower than --tls-min"),
        ("--har-with-secrets", "--har-with-secrets needs --har FILE"),
    ]

    /// The same switches with what they need.
    private static let accepted = [
        "-x p -U u:p", "-x p --noproxy h", "-x= --unix-socket s", "--resolve h:443:127.0.0.1 --connect-to h:443:i:443",
        "--cert c --key k --pass p", "--pass p -E c", "--tls-min 1.1 --tls-max 1.1", "--tls-max 1.2",
        "--tlsv1.3 --tls-max default",
    ]

    /// The words of a line. `-x=` stands for an empty proxy.
    private func words(_ line: String) -> [String] {
        line.split(separator: " ").flatMap { $0 == "-x=" ? ["-x", ""] : [String($0)] }
    }

    private func failure(_ words: [String]) -> UsageError? {
        do throws(UsageError) {
            _ = try Arguments.parse(words)
            return nil
        } catch {
            return error
        }
    }

    @Test(arguments: commands, refused) func refusedCombinations(_ command: String, _ line: (String, String)) throws {
        let (switches, message) = line
        let error = failure(words(command) + words(switches))
        #expect(error?.exitCode == .usage)
        if command.hasPrefix("background") {
            // It takes none of them.
            let start = "'background add' does not take --"
            #expect(error?.message.hasPrefix(start) == true, "\(error?.message ?? "accepted")")
        } else if command.hasPrefix("connect"), switches == "--har-with-secrets" {
            #expect(error?.message == "'connect' does not take --har-with-secrets")
        } else {
            #expect(error?.message == message)
        }
        // The order of command and switches makes no difference.
        #expect(failure(words(switches) + words(command)) == error)
    }

    @Test(arguments: commands.filter { !$0.hasPrefix("background") }, accepted)
    func acceptedCombinations(_ command: String, _ switches: String) {
        #expect(failure(words(command) + words(switches)) == nil)
    }

    /// The second reader would find nothing.
    @Test(arguments: ["-d @-", "--json @-", "-F a=@-", "-F a=<-", "-T -", "-T .", "-b -", "-w @-", "-K -"])
    func standardInputIsReadOnce(_ line: String) throws {
        let files = ConfigurationFiles(defaultPath: nil) { _ throws(FileError) in Data() }
        let isBody = ["-F", "-d", "--json", "-T"].contains { line.hasPrefix($0) }
        let word = isBody ? "-b -" : "-F a=@-"
        for url in ["h/a", "h/a h/b"] {
            let both = words("\(url) \(line) \(word)")
            let error = try #require(throws: UsageError.self) { try Arguments.parse(both, files: files) }
            #expect(
                ["standard input can be read once", "standard input can be sent to one URL only"].contains(
                    error.message))
        }
        #expect(throws: Never.self) { try Arguments.parse(words("h/a \(line)"), files: files) }
    }

    /// It has what these commands send.
    @Test(arguments: ["ws h/a", "connect h 25"], ["-", "/dev/stdin"])
    func standardInputIsSent(_ command: String, _ path: String) {
        let files = ConfigurationFiles(defaultPath: nil) { _ throws(FileError) in Data("silent\n".utf8) }
        let name = command.split(separator: " ")[0]
        #expect(throws: UsageError("'\(name)' sends standard input: -K needs a file")) {
            try Arguments.parse(words("\(command) -K \(path)"), files: files)
        }
        #expect(throws: Never.self) { try Arguments.parse(words("\(command) -K f"), files: files) }
    }

    /// Of every command that writes several files.
    @Test(arguments: [
        "h/a -o f -D f", "h/a -o f --har f", "download h/a f --har f", "download h/a -o f --har f",
        "download h/f --har f", "ws h/a -o f --har f",
    ])
    func oneFileForTwoOutputs(_ line: String) {
        #expect(failure(words(line)) == UsageError("two outputs for the file 'f'"))
    }

    /// An address in brackets has colons of its own.
    @Test(arguments: [
        ("http://[::1]", "http://[::1]:1080"), ("https://[::1]/", "https://[::1]:443"), ("[::1]:80", "http://[::1]:80"),
        ("socks5h://u:p@[::1]", "socks5h://u:p@[::1]:1080"), ("p", "http://p:1080"), ("p:3128", "http://p:3128"),
    ])
    func proxyAddresses(_ text: String, _ url: String) throws {
        #expect(try NetworkOptions.proxy(text) == url)
    }

    /// What the default file has is a preference, which a command may not be able to follow.
    @Test func defaultsRefuseNothing() throws {
        func request(_ line: String, defaults: String) throws -> RequestBuilder? {
            let files = ConfigurationFiles(defaultPath: "f") { path throws(FileError) in
                path == "f" ? Data(defaults.utf8) : Data()
            }
            guard case .load(let load) = try Arguments.parse(words(line), files: files) else { return nil }
            return try RequestBuilder(load)
        }
        #expect(try request("http://h/a -T -", defaults: "retry = 3") != nil)
        #expect(throws: UsageError.self) { try request("http://h/a -T - --retry 2", defaults: "retry = 3") }
        #expect(try request("http://h/a --session-read-only a", defaults: "session = b") != nil)
        let resolved = "resolve = h:80:127.0.0.1"
        #expect(try request("http://h/a --unix-socket s", defaults: resolved) != nil)
        #expect(throws: UsageError.self) { try request("http://h/a", defaults: resolved + "\nunix-socket = s") }
        #expect(throws: UsageError.self) {
            try request("http://h/a --resolve h:80:127.0.0.1", defaults: "unix-socket = s")
        }
    }

    /// One after the other, loads may replace a file; heads and bodies may share standard output.
    @Test(arguments: [
        "h/a h/b -o f -o f", "h/a -D - -o -", "-Z h/a h/b -D f", "-Z h/a h/b -o - -o -", "-Z h/a h/b -OJ",
        "h/a -o /dev/null -D /dev/null -c /dev/null", "-Z h/a h/b -o /dev/null -o /dev/null",
    ])
    func sharedOutputs(_ line: String) {
        #expect(failure(words(line)) == nil)
    }

    @Test(arguments: [
        ("download h/a -o -", "'download' needs the name of a file"),
        ("download h/a -o b -o c", "'download' takes one -o"),
        ("download h/a -O -o c", "'download' takes one -o"),
        ("ws h/a -o b -o c", "'ws' takes one -o"),
        ("connect h 25 -o b -o c", "'connect' takes one -o"),
        ("background add h/a -o b -o c", "'background' takes one -o"),
        ("h/a -o b -o c", "more -o and -O than URLs"),
    ])
    func outputs(_ line: String, _ message: String) {
        #expect(failure(words(line)) == UsageError(message))
    }
}
