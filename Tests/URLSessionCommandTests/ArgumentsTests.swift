import Testing
import URLSessionCommandCore

/// The command line, from words to values.
@Suite struct ArgumentsTests {
    private func load(_ line: String..., change: (inout CommandLineRequest) -> Void) -> CommandLineAction {
        var request = CommandLineRequest(url: "http://h/")
        change(&request)
        return .load(request)
    }

    private func failure(_ arguments: String...) -> UsageError? {
        do throws(UsageError) {
            _ = try Arguments.parse(arguments)
            return nil
        } catch {
            return error
        }
    }

    @Test func urlAloneMeansGet() throws {
        #expect(try Arguments.parse(["http://h/"]) == .load(CommandLineRequest(url: "http://h/")))
        #expect(try Arguments.parse(["get", "http://h/"]) == .load(CommandLineRequest(url: "http://h/")))
    }

    @Test(arguments: ["post", "put", "delete", "head", "patch", "options", "POST", "Patch"])
    func verbs(_ verb: String) throws {
        #expect(try Arguments.parse([verb, "http://h/"]) == load { $0.method = verb.uppercased() })
    }

    @Test func methodSwitchKeepsTheCaseOfUnknownMethods() throws {
        #expect(try Arguments.parse(["-X", "put", "http://h/"]) == load { $0.method = "PUT" })
        #expect(try Arguments.parse(["-XPuRgE", "http://h/"]) == load { $0.method = "PuRgE" })
        #expect(try Arguments.parse(["--method=LINK", "http://h/"]) == load { $0.method = "LINK" })
        #expect(try Arguments.parse(["--request", "LINK", "http://h/"]) == load { $0.method = "LINK" })
        #expect(try Arguments.parse(["-I", "http://h/"]) == load { $0.method = "HEAD" })
    }

    @Test func headers() throws {
        let arguments = ["http://h/", "-H", "A: 1", "-HB:2 ", "--header", "C;", "--header=D:", "-H", "E: x:y"]
        #expect(
            try Arguments.parse(arguments)
                == load {
                    $0.headers = [
                        .set(name: "A", value: "1"), .set(name: "B", value: "2"), .set(name: "C", value: ""),
                        .remove(name: "D"), .set(name: "E", value: "x:y"),
                    ]
                })
    }

    @Test func bodies() throws {
        func body(_ value: CommandLineRequest.Body) -> CommandLineAction {
            load {
                $0.method = "POST"
                $0.body = value
            }
        }
        #expect(try Arguments.parse(["http://h/", "-d", "a=1"]) == body(.text("a=1")))
        #expect(try Arguments.parse(["http://h/", "-d", "a=1", "-d", "b=2"]) == body(.text("a=1&b=2")))
        #expect(
            try Arguments.parse(["http://h/", "-d", "@some/file"])
                == body(.pieces([DataPiece(.file("some/file"), .withoutLineBreaks)])))
        #expect(
            try Arguments.parse(["http://h/", "-d@-"]) == body(.pieces([DataPiece(.standardInput, .withoutLineBreaks)]))
        )
        #expect(try Arguments.parse(["http://h/", "--data-binary", "@some/file"]) == body(.file("some/file")))
        #expect(try Arguments.parse(["http://h/", "--data-binary", "@-"]) == body(.standardInput))
        #expect(try Arguments.parse(["http://h/", "--data-raw", "@-"]) == body(.text("@-")))
        #expect(
            try Arguments.parse(["put", "http://h/", "--json", "{}"])
                == load {
                    $0.method = "PUT"
                    $0.body = .text("{}")
                    $0.isJSON = true
                })
    }

    @Test func shortSwitchesInARow() throws {
        #expect(
            try Arguments.parse(["-fsSLi", "-vv", "-m5", "http://h/"])
                == load {
                    $0.failsOnHTTPError = true
                    $0.isSilent = true
                    $0.showsErrors = true
                    $0.includesHead = true
                    $0.verbosity = 2
                    $0.timeout = 5
                })
    }

    @Test func everythingElse() throws {
        let arguments = [
            "--no-follow", "--max-redirects", "3", "--idle-timeout=0.5", "--http1.1", "--compressed", "-A", "me/1",
            "--no-progress", "--color", "never", "--metrics", "--har", "x.har", "--har-with-secrets", "-o", "out",
            "http://h/",
        ]
        #expect(
            try Arguments.parse(arguments)
                == load {
                    $0.followsRedirects = false
                    $0.maximumRedirects = 3
                    $0.idleTimeout = 0.5
                    $0.version = .http1
                    $0.userAgent = "me/1"
                    $0.showsProgress = false
                    $0.color = .never
                    $0.showsMetrics = true
                    $0.harPath = "x.har"
                    $0.harIncludesSecrets = true
                    $0.destination = .file("out")
                })
    }

    @Test func destinations() throws {
        #expect(
            try Arguments.parse(["-o", "-", "http://h/"]) == load { $0.destination = .standardOutput(exactly: true) })
        #expect(
            try Arguments.parse(["-O", "http://h/a/b.txt?c=/d"])
                == .load(
                    {
                        var request = CommandLineRequest(url: "http://h/a/b.txt?c=/d")
                        request.destination = .file("b.txt")
                        return request
                    }()))
    }

    @Test func afterTwoDashesEverythingIsAWord() throws {
        #expect(try Arguments.parse(["--", "http://h/"]) == .load(CommandLineRequest(url: "http://h/")))
        #expect(try Arguments.parse(["--", "-x"]) == .load(CommandLineRequest(url: "-x")))
    }

    @Test func otherActions() throws {
        #expect(try Arguments.parse(["--help"]) == .help(.general))
        #expect(try Arguments.parse(["help"]) == .help(.general))
        #expect(try Arguments.parse(["help", "ws"]) == .help(.webSocket))
        #expect(try Arguments.parse(["connect", "--help"]) == .help(.connect))
        #expect(try Arguments.parse(["-V"]) == .version)
        #expect(try Arguments.parse(["demo"]) == .demo(color: .auto, showsProgress: true))
        #expect(
            try Arguments.parse(["demo", "--color=always", "--no-progress"])
                == .demo(color: .always, showsProgress: false))
    }

    private func download(_ change: (inout CommandLineRequest) -> Void) -> CommandLineAction {
        var request = CommandLineRequest(url: "http://h/a")
        request.destination = .file("a")
        change(&request)
        return .download(request)
    }

    @Test func downloads() throws {
        #expect(try Arguments.parse(["download", "http://h/a"]) == download { _ in })
        #expect(
            try Arguments.parse(["download", "http://h/a", "b", "--resume"]) == download { $0.destination = .file("b") }
        )
        #expect(
            try Arguments.parse(["download", "http://h/a", "-o", "b"]) == download { $0.destination = .file("b") })
        #expect(
            try Arguments.parse(["download", "--no-resume", "--force", "--trace", "http://h/a"])
                == download {
                    $0.resumes = false
                    $0.replacesFile = true
                    $0.showsTrace = true
                })
    }

    @Test func uploads() throws {
        let upload = load {
            $0.method = "PUT"
            $0.body = .file("f")
            $0.isUpload = true
        }
        #expect(try Arguments.parse(["upload", "f", "http://h/"]) == upload)
    }

    @Test(arguments: [
        (["download"], "'download' needs a URL"),
        (["download", "http://h/"], "'download': the URL names no file; use -o FILE"),
        (["download", "h/a", "b", "c"], "one download at a time; 'c' is one too many"),
        (["download", "h/a", "-"], "'download' needs the name of a file"),
        (["download", "h/a", "b", "-o", "c"], "two names for the file: 'b' and that of -o or -O"),
        (["download", "h/a", "-d", "x"], "'download' does not take --data"),
        (["download", "h/a", "-X", "POST"], "'download' does not take --method"),
        (["h/a", "--force"], "--force belongs to 'download'"),
        (["get", "h/a", "--no-resume"], "--no-resume belongs to 'download'"),
        (["upload", "f"], "'upload' needs a file and a URL"),
        (["upload", "-", "h"], "'upload' needs a file and a URL"),
        (["upload", "f", "h", "-d", "x"], "'upload' takes its body from the file"),
    ])
    func usageErrorsOfDownloadsAndUploads(_ arguments: [String], _ message: String) {
        let error = #expect(throws: UsageError.self) { try Arguments.parse(arguments) }
        #expect(error == UsageError(message, exitCode: .usage))
    }

    @Test(arguments: [
        ([], "a URL is missing"),
        (["get"], "'get' needs a URL"),
        (["http://a/", "-o", "a", "-o", "b"], "more -o and -O than URLs"),
        (["http://a/", "-T", "a", "-T", "b"], "more -T than URLs"),
        (["http://a/", "-d", "a", "-F", "b=c"], "one body only: -d, --json, -F and -T exclude each other"),
        (["http://a/", "-J"], "-J names the file of -O, which is missing"),
        (["http://a/", "-C", "-"], "-C: use 'urlsession download', which resumes"),
        (["http://a/", "--interface", "eth0"], "--interface: URLSession has no choice of the interface: use -4 or -6"),
        (
            ["http://a/", "-H", "Host: b"],
            "-H: URLSession sends its own Host: put the host into the URL, and its address into --connect-to or --resolve"
        ),
        (["http://a/", "-H", "Transfer-Encoding: chunked"], "-H: URLSession sends its own Transfer-Encoding"),
        (["help", "dwnload"], "no help for 'dwnload': did you mean 'download'?"),
        (["help", "nonsense"], "no help for 'nonsense'"),
        (["help", "download", "x"], "'help' needs one command"),
        (["http://a/", "-H", "Connection;"], "-H: URLSession sends its own Connection"),
        (["http://a/", "-A", ""], "-A needs a text: URLSession always sends User-Agent"),
        (["http://a/", "-A", "a\r\nX: y"], "the value of -A has a line break in it"),
        (["http://a/", "-b", "a=1\nX: y"], "the value of -b has a line break in it"),
        (["http://a/", "-e", "http://b/;auto"], "-e: URLSession sends no Referer of its own"),
        (["http://a/", "-e", "a\nb"], "the value of -e has a line break in it"),
        (["http://a/", "-x", "http://p:99999"], "-x: '99999' is not a port"),
        (["http://a/", "-x", "p:"], "-x: '' is not a port"),
        (["http://a/", "-x", "[::1]:+1"], "-x: '+1' is not a port"),
        (
            ["http://a/", "--resolve", "127.0.0.2:80:127.0.0.1"],
            "--resolve is about names, and '127.0.0.2' is an address: use --connect-to"
        ),
        (
            ["http://a/", "--resolve", "[::1]:80:127.0.0.1"],
            "--resolve is about names, and '::1' is an address: use --connect-to"
        ),
        (["http://a/", "--connect-to", "a:b:c:d"], "--connect-to needs HOST:PORT:HOST:PORT, not 'a:b:c:d'"),
        (["http://a/", "--connect-to", "a:1:b:99999"], "--connect-to needs HOST:PORT:HOST:PORT, not 'a:1:b:99999'"),
        (["http://a/", "--connect-to", "a:0:b:1"], "--connect-to needs HOST:PORT:HOST:PORT, not 'a:0:b:1'"),
        (["http://a/", "-r", "5-2"], "-r needs 0-499, 500- or -500, not '5-2'"),
        (["http://a/", "-w", "%output{f}x"], "-w: %output{} writes no file here: use > FILE"),
        (
            ["http://a/", "--session", "a", "--session-read-only", "a"],
            "--session and --session-read-only exclude each other"
        ),
        (["http://a/", "-o", "f", "-D", "f"], "two outputs for the file 'f'"),
        (["http://a/", "-c", "f", "--har", "f"], "two outputs for the file 'f'"),
        (["-Z", "http://a/", "http://b/", "-o", "f", "-o", "f"], "two outputs for the file 'f'"),
        (["-Z", "http://a/f", "http://b/f", "--remote-name-all"], "two outputs for the file 'f'"),
        (["http://a/", "-r", "a"], "-r needs 0-499, 500- or -500, not 'a'"),
        (["http://a/", "-w", "%{nope}"], "-w: unknown variable %{nope}"),
        (["http://a/", "-w", "%{http_cod}"], "-w: unknown variable %{http_cod}: did you mean %{http_code}?"),
        (["http://a/", "-w", "%{certs}"], "-w: URLSession does not report %{certs}"),
        (["http://a/", "-x", "socks5://p"], "-x socks5://: the proxy resolves names: use socks5h://"),
        (["http://a/", "-F", "a=@b,c"], "-F: one file for each -F; a name with a comma needs quotation marks"),
        (["http://a/", "-F", "a=(;type=x/y"], "-F: parts within parts are not supported"),
        (
            ["http://a/", "-F", "a=b;c"],
            "-F: 'c' is not type=, filename= or headers=: put a text with a semicolon in quotation marks"
        ),
        (
            ["http://a/", "-x", "p", "-U", "me"],
            "-U needs NAME:PASSWORD, or NAME: without a password: it is not asked for"
        ),
        (["http://a/", "--tls-max", "1.1"], "--tls-max 1.1 needs --tls-min: TLS 1.2 is the lowest by default"),
        (["http://a/", "--tls-min", "1.3", "--tls-max", "1.2"], "--tls-max is lower than --tls-min"),
        (["http://a/", "--tls-min", "2"], "--tls-min is 1.0, 1.1, 1.2 or 1.3, not '2'"),
        (["http://a/", "--key", "k"], "--key needs the certificate: --cert FILE"),
        (["http://a/", "--resolve", "a:80"], "--resolve needs HOST:PORT:ADDRESS, not 'a:80'"),
        (["http://a/", "--resolve", "a:80:b"], "--resolve needs HOST:PORT:ADDRESS, not 'a:80:b'"),
        (["http://a/", "--connect-to", "a"], "--connect-to needs HOST:PORT:HOST:PORT, not 'a'"),
        (
            ["http://a/", "--session", ".."],
            "--session needs a name of letters, digits, - _ and ., or a path with /, not '..'"
        ),
        (["http://a/", "--json", "1", "-G"], "-G puts data into the query: use it with -d or --data-urlencode"),
        (["download", "http://a/", "--limit-rate", "1K"], "'download' does not take --limit-rate"),
        (["ws", "http://a/", "-w", "a"], "'ws' does not take --write-out"),
        (["connect", "a", "1", "-b", "a=b"], "'connect' does not take --cookie"),
        (["completion", "csh"], "'completion' needs one of bash, zsh, fish"),
        (["http://a/", "http://b/", "--har", "f"], "--har is about one URL"),
        (["http://a/", "http://b/", "-d", "@-"], "standard input can be sent to one URL only"),
        (["--wrong"], "unknown switch --wrong"),
        (["-Q"], "-Q: URLSession sends no commands of FTP"),
        (["-m"], "-m needs a value"),
        (["--har"], "--har needs a value"),
        (["--metrics=1"], "--metrics takes no value"),
        (["-m", "0", "h"], "-m needs a number of seconds above zero, not '0'"),
        (["-m", "nan", "h"], "-m needs a number of seconds above zero, not 'nan'"),
        (["--max-redirects", "-1", "h"], "--max-redirects needs a whole number, not '-1'"),
        (["--color", "red", "h"], "--color is auto, always or never, not 'red'"),
        (["-X", "A B", "h"], "'A B' is not a method"),
        (["post", "-X", "PUT", "h"], "two methods: POST and PUT"),
        (["-H", "no colon", "h"], "-H needs 'Name: value', not 'no colon'"),
        (["-H", "a b: c", "h"], "'a b' is not the name of a header field"),
        (["-H", "a: b\r\nc: d", "h"], "the value of a has a line break in it"),
        (["-d", "@", "h"], "'@' needs the name of a file, or - for standard input"),
        (["-d", "a", "--json", "{}", "h"], "--json and --data exclude each other"),
        (["-O", "http://h/"], "-O: the URL names no file; use -o FILE"),
        (["-O", "http://h/.."], "-O: the URL names no file; use -o FILE"),
        (["--har-with-secrets", "h"], "--har-with-secrets needs --har FILE"),
        (["--har-secrets", "h"], "--har-with-secrets needs --har FILE"),
        (["--har", "-", "-o", "-", "h"], "standard output cannot have both: --har - and -o -"),
        (["--metrcs", "h"], "unknown switch --metrcs: did you mean --metrics?"),
        (["--cacrt", "f", "h"], "unknown switch --cacrt: did you mean --cacert?"),
        (["--max-redirect", "1", "h"], "unknown switch --max-redirect: did you mean --max-redirects?"),
        (["downlaod", "http://h/a"], "unknown command 'downlaod': did you mean 'download'?"),
        (["demo", "-i"], "'demo' does not take --include"),
        (
            ["get", "http://h/", "-d", "a"],
            "URLSession sends no body with GET; use post, or put the data into the URL's query with -G"
        ),
    ])
    func usageErrors(_ arguments: [String], _ message: String) {
        let error = #expect(throws: UsageError.self) { try Arguments.parse(arguments) }
        #expect(error == UsageError(message, exitCode: .usage))
    }

    // CONN-2: the last one counts
    @Test(
        arguments: [
            (["--http1.1"], .http1), (["--http2"], .http2), (["--http3"], .http3), (["--http3-only"], .http3),
            (["--http3", "--http1.1"], .http1), ([], nil),
        ] as [([String], CommandLineRequest.Version?)])
    func versions(_ arguments: [String], _ version: CommandLineRequest.Version?) throws {
        var request = CommandLineRequest(url: "h")
        request.version = version
        #expect(try Arguments.parse(arguments + ["h"]) == .load(request))
    }

    // CONN-2: HTTP/2 without TLS is not supported
    @Test(arguments: [("--http2", "HTTP/2"), ("--http3", "HTTP/3")])
    func versionsThatNeedTLS(_ name: String, _ version: String) {
        for url in ["http://h/", "localhost:80", "HTTP://h"] {
            #expect(
                failure(name, url)
                    == UsageError("\(version) needs https, not http", exitCode: .unavailable))
        }
        #expect(failure("--http1.1", "http://h/") == nil)
    }

    @Test func distances() {
        #expect(
            [("", ""), ("a", ""), ("abc", "abd"), ("abc", "acb"), ("metrcs", "metrics"), ("kitten", "sitting")].map {
                Suggestion.distance($0, $1)
            } == [0, 1, 1, 1, 1, 3])
        #expect(Suggestion.nearest(to: "pin", among: ["pin", "user"]) == nil)
    }

    @Test(arguments: ["-k", "--insecure"]) func insecure(_ name: String) throws {
        var request = CommandLineRequest(url: "h")
        request.isInsecure = true
        #expect(try Arguments.parse([name, "h"]) == .load(request))
    }

    @Test(arguments: HelpText.allCases) func helpFitsAScreen(_ help: HelpText) {
        let lines = help.text.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
        #expect(lines.count <= 24)
        #expect(lines.filter { $0.count > 80 } == [])
    }

    @Test(arguments: [
        ("https://h/a", "https://h/a"),
        ("example.org/a", "https://example.org/a"),
        ("example.org:8443", "https://example.org:8443"),
        ("localhost:8080/a", "http://localhost:8080/a"),
        ("me@localhost", "http://me@localhost"),
        ("api.localhost", "http://api.localhost"),
        ("127.0.0.1", "http://127.0.0.1"),
        ("127.1:8080/a", "http://127.1:8080/a"),
        ("LOCALHOST", "http://LOCALHOST"),
        // Names that begin as an address does.
        ("127.0.0.1.evil.com", "https://127.0.0.1.evil.com"),
        ("127.evil.com/a", "https://127.evil.com/a"),
        ("127.0.0.1@evil.com", "https://127.0.0.1@evil.com"),
        ("127.0.0.1.1", "https://127.0.0.1.1"),
        ("localhost.evil.com", "https://localhost.evil.com"),
        ("[::1]:80/", "http://[::1]:80/"),
        ("[2001:db8::1]", "https://[2001:db8::1]"),
        (":8080/a", "http://localhost:8080/a"),
        (":/a", "http://localhost/a"),
        ("data:,hello", "data:,hello"),
        ("file:///etc/hosts", "file:///etc/hosts"),
        ("example.org/?to=http://h", "https://example.org/?to=http://h"),
    ])
    func schemeLeftOut(_ text: String, _ url: String) {
        #expect(URLArgument.complete(text) == url)
    }
}
