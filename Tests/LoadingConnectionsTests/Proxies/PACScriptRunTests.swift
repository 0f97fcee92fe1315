import Foundation
import LoadingSemantics
import TestSupport
import Testing

@testable import LoadingConnections

/// Scripts that pick proxies, in the engine of the system.
@Suite(.needs("Duktape", of: "libduktape207", ProxyResolver.runsScripts))
struct PACScriptRunTests {
    private func query(_ url: String) throws -> ProxyQuery { ProxyQuery(try HTTPURL(url)) }

    private func answer(_ source: String, _ url: String = "http://www.a.example/x?y") throws -> ProxyResolution {
        PACScriptRun.answer(of: source, to: try query(url))
    }

    /// What an expression comes to, as text; nil if it comes to nothing. It stands in the name of a proxy.
    private func value(_ expression: String, after preparation: String = "") throws -> String? {
        let advice = try answer(
            "\(preparation); function FindProxyForURL(url, host) { return 'PROXY x' + (\(expression)) + ':1' }")
        guard case .route(let route) = advice, case .through(let server)? = route.routes.first else { return nil }
        return String(server.host.dropFirst())
    }

    // PROXY-1
    @Test("a script's arguments and its result") func answers() throws {
        let ways = "PROXY a:81; SOCKS b; DIRECT"
        #expect(
            try answer("function FindProxyForURL(url, host) { return '\(ways)' }") == .route(PACResult(ways).route))
        let source = """
            function FindProxyForURL(url, host) {
                return url === "http://www.a.example/x?y" && host === "www.a.example" && arguments.length === 2
                    ? "PROXY yes" : "PROXY no";
            }
            """
        #expect(try answer(source) == .route(PACResult("PROXY yes").route))
        #expect(try answer("FindProxyForURL = function () { return '' }") == .route(.direct))
    }

    // PROXY-10
    @Test(
        "what is no answer",
        arguments: [
            "", "syntax error(", "throw 1", "function findproxyforurl() { return 'DIRECT' }", "var FindProxyForURL = 1",
            "function FindProxyForURL() { throw new Error('no') }", "function FindProxyForURL() { return null }",
            "function FindProxyForURL() {}", "function FindProxyForURL() { return 1 }",
            "function FindProxyForURL() { return { toString: function () { return 'DIRECT' } } }",
            "function FindProxyForURL() { return Array(100000).join('x') }",
        ])
    func nothing(source: String) throws {
        #expect(try answer(source) == .nothing)
    }

    // PROXY-1: a hostile script harms itself alone
    @Test(
        "a script that takes all it can get",
        arguments: [
            "function FindProxyForURL() { for (;;); }", "for (;;);",
            "function FindProxyForURL() { for (;;) dnsResolve('localhost') }",
            "function FindProxyForURL() { return /^(((a+)+)+)+$/.test(Array(60).join('a') + 'b') }",
        ])
    func endless(source: String) throws {
        #expect(try answer(source) == .timedOut)
    }

    @Test(
        "a script that wants all memory",
        arguments: [
            "var list = []; for (;;) list.push(new Array(1000).join('x') + list.length)",
            "var text = 'x'; for (;;) text += text", "function f() { return 1 + f() } f()",
            "var list = []; for (;;) list = [list]", "new Uint8Array(1 << 30)",
        ])
    func greedy(source: String) throws {
        guard case .route = try answer("\(source); function FindProxyForURL() { return 'DIRECT' }") else { return }
        Issue.record("it has got it")
    }

    private func children() throws -> Set<String> {
        let processes = try FileManager.default.contentsOfDirectory(atPath: "/proc").filter { Int($0) != nil }
        let own = "PPid:\t\(getpid())\n"
        return Set(
            processes.filter {
                (try? String(contentsOfFile: "/proc/\($0)/status", encoding: .utf8))?.contains(own) ?? false
            })
    }

    @Test("a script that ended badly leaves no process") func processes() throws {
        let before = try children()
        _ = try answer("for (;;) dnsResolve('localhost')")
        #expect(try children() == before)
    }

    // PROXY-1
    @Test("the process of a script has no file, no shared memory, and none of the kernel's calls") func shutIn()
        async throws
    {
        let page = mmap(nil, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)
        try #require(page != MAP_FAILED)
        defer { munmap(page, 4096) }
        #expect(shared(by: "self") ?? 0 > 0)
        let query = try query("http://a.example/")
        let before = try children()
        async let ended = Task.detached { PACScriptRun.answer(of: "/* shut in */ for (;;);", to: query) }.value
        // It computes until its time is over.
        try await eventually {
            (try? children())?.subtracting(before).contains { process in
                let status = (try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)) ?? ""
                guard status.contains("Seccomp:\t2\n"), status.contains("NoNewPrivs:\t1\n") else { return false }
                // The rest is for the superuser to see.
                guard getuid() == 0 else { return true }
                let files = try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/fd")
                // A sanitizer has memory of its own that is shared.
                return files == ["0"] && (Memory.isSanitized || shared(by: process) == 0)
            } == true
        }
        #expect(await ended == .timedOut)
    }

    /// How many mappings of memory of its own a process shares with others; nil if that cannot be seen.
    private func shared(by process: String) -> Int? {
        // The file reports no size.
        guard let maps = try? FileHandle(forReadingAtPath: "/proc/\(process)/maps")?.readToEnd(), !maps.isEmpty else {
            return nil
        }
        return String(decoding: maps, as: UTF8.self).split(separator: "\n").count { line in
            line.split(separator: " ").dropFirst().first?.hasSuffix("s") == true
        }
    }

    // What it can reach is the language, and what the format names.
    @Test(
        "there is nothing else",
        arguments: ["ask", "require", "readFile", "print", "console", "process", "XMLHttpRequest", "java", "std", "os"])
    func nothingElse(name: String) throws {
        #expect(try value("typeof \(name)") == "undefined")
    }

    // PROXY-1
    @Test(
        "names of hosts",
        arguments: [
            ("isPlainHostName('www')", "true"), ("isPlainHostName('www.a')", "false"),
            ("dnsDomainIs('www.a.example', '.a.example')", "true"), ("dnsDomainIs('www', '.a.example')", "false"),
            ("dnsDomainIs('a.example', '.a.example')", "false"),
            ("dnsDomainIs('www.b.example', '.a.example')", "false"),
            ("localHostOrDomainIs('www.a.example', 'www.a.example')", "true"),
            ("localHostOrDomainIs('www', 'www.a.example')", "true"),
            ("localHostOrDomainIs('www.b.example', 'www.a.example')", "false"),
            ("localHostOrDomainIs('primaryOrigin.a.example', 'www.a.example')", "false"),
            ("localHostOrDomainIs('ww', 'www.a.example')", "false"), ("dnsDomainLevels('www')", "0"),
            ("dnsDomainLevels('www.a.example')", "2"),
        ])
    func hosts(expression: String, expected: String) throws {
        #expect(try value(expression) == expected)
    }

    // PROXY-1
    @Test(
        "patterns of the shell",
        arguments: [
            ("a", "a", true), ("a", "b", false), ("", "", true), ("", "*", true), ("", "?", false), ("abc", "*", true),
            ("abc", "a*", true), ("abc", "*c", true), ("abc", "*b", false), ("abc", "?b?", true), ("abc", "??", false),
            ("abcbc", "a*bc", true), ("abcb", "a*bc", false), ("a.b", "a?b", true), ("axb", "a.b", false),
            ("http://h/a/x", "*/a/*", true), ("http://h/b/x", "*/a/*", false), ("ABC", "abc", false),
            ("a+b", "a+b", true), ("a", "[a]", false), ("(", "(", true), ("abc", "abc*", true), ("abc", "***", true),
            ("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab", "*a*a*a*a*a*a*a*a*a*a*a*c", false),
        ])
    func patterns(text: String, pattern: String, matches: Bool) throws {
        #expect(try value("shExpMatch('\(text)', '\(pattern)')") == "\(matches)")
    }

    // PROXY-1
    @Test(
        "addresses",
        arguments: [
            ("isInNet('10.1.2.3', '10.0.0.0', '255.0.0.0')", "true"),
            ("isInNet('11.1.2.3', '10.0.0.0', '255.0.0.0')", "false"),
            ("isInNet('192.168.3.9', '192.168.0.1', '255.255.252.0')", "true"),
            ("isInNet('200.1.2.3', '200.1.2.3', '255.255.255.255')", "true"),
            ("isInNet('200.1.2.4', '200.1.2.3', '255.255.255.255')", "false"),
            ("isInNet('localhost', '127.0.0.0', '255.0.0.0')", "true"),
            ("isInNet('localhost', '127.0.0', '255.0.0.0')", "false"),
            ("isInNet('no.such.invalid', '0.0.0.0', '0.0.0.0')", "false"),
            ("isInNet('10.1.2.300', '10.0.0.0', '255.0.0.0')", "false"), ("dnsResolve('localhost')", "127.0.0.1"),
            ("dnsResolve('10.1.2.3')", "10.1.2.3"), ("dnsResolve('no.such.invalid') === null", "true"),
            ("dnsResolve('') === null", "true"), ("dnsResolve('a\\0b') === null", "true"),
            ("dnsResolve(Array(5000).join('a')) === null", "true"), ("isResolvable('localhost')", "true"),
            ("isResolvable('no.such.invalid')", "false"), ("convert_addr('1.2.3.4')", "16909060"),
            ("/^\\\\d+(\\\\.\\\\d+){3}$/.test(myIpAddress())".replacing("\\\\", with: "\\"), "true"),
        ])
    func addresses(expression: String, expected: String) throws {
        #expect(try value(expression) == expected)
    }

    /// A clock that does not advance: Saturday, the last of January 2026, 23:05:58.
    private let clock = """
        var Real = Date;
        Date = function () { return new Real(2026, 0, 31, 23, 5, 58) };
        """

    // PROXY-1
    @Test(
        "days, dates and times",
        arguments: [
            ("weekdayRange('SAT')", true), ("weekdayRange('SUN')", false), ("weekdayRange('MON', 'FRI')", false),
            ("weekdayRange('FRI', 'SUN')", true), ("weekdayRange('SUN', 'FRI')", false),
            ("weekdayRange('SAT', 'MON')", true), ("weekdayRange('XXX')", false), ("weekdayRange()", false),
            ("dateRange(31)", true), ("dateRange(1)", false), ("dateRange(1, 15)", false), ("dateRange(30, 31)", true),
            ("dateRange(28, 2)", true), ("dateRange('JAN')", true), ("dateRange('FEB')", false),
            ("dateRange('JAN', 'MAR')", true), ("dateRange('NOV', 'FEB')", true), ("dateRange('FEB', 'DEC')", false),
            ("dateRange(2026)", true), ("dateRange(2025)", false), ("dateRange(2025, 2027)", true),
            ("dateRange(2027, 2025)", false), ("dateRange(1, 'JAN', 31, 'JAN')", true),
            ("dateRange(1, 'FEB', 30, 'JAN')", false), ("dateRange(24, 'DEC', 6, 'FEB')", true),
            ("dateRange('JAN', 2026, 'JAN', 2026)", true), ("dateRange('FEB', 2026, 'MAR', 2026)", false),
            ("dateRange(31, 'JAN', 2026, 31, 'JAN', 2026)", true),
            ("dateRange(1, 'FEB', 2026, 31, 'DEC', 2026)", false),
            ("dateRange(1, 'JAN', 2025, 31, 'DEC', 2025)", false),
            ("dateRange()", false), ("dateRange('XXX')", false), ("dateRange(0)", false),
            ("dateRange(1, 'JAN', 2)", false), ("dateRange(1, 2026, 2, 'JAN')", false),
            ("timeRange(23)", true), ("timeRange(22)", false), ("timeRange(9, 17)", false), ("timeRange(9, 23)", true),
            ("timeRange(22, 6)", true), ("timeRange(23, 5, 23, 5)", true), ("timeRange(23, 6, 23, 7)", false),
            ("timeRange(8, 30, 17, 0)", false), ("timeRange(23, 5, 58, 23, 5, 58)", true),
            ("timeRange(23, 5, 59, 23, 6, 0)", false), ("timeRange(0, 0, 0, 0, 0, 30)", false),
            ("timeRange(24)", false),
            ("timeRange()", false), ("timeRange('x')", false),
        ])
    func dates(expression: String, expected: Bool) throws {
        #expect(try value(expression, after: clock) == "\(expected)")
    }

    // PROXY-1
    @Test(
        "the same, in universal time",
        arguments: [
            ("weekdayRange('SAT', 'GMT')", true), ("weekdayRange('SAT', 'SUN', 'GMT')", true),
            ("weekdayRange('SUN', 'GMT')", false), ("dateRange('JAN', 'GMT')", true), ("dateRange(31, 'GMT')", true),
            ("timeRange(23, 'GMT')", true), ("timeRange(21, 22, 'GMT')", false),
        ])
    func universalDates(expression: String, expected: Bool) throws {
        let clock = "var Real = Date; Date = function () { return new Real(Real.UTC(2026, 0, 31, 23, 5, 58)) };"
        #expect(try value(expression, after: clock) == "\(expected)")
    }

    @Test("the time of a script is the time here") func clockOfScript() throws {
        var now = time(nil)
        var parts = tm()
        _ = localtime_r(&now, &parts)
        let seconds = try #require(try value("Math.floor(Date.now() / 1000)").flatMap { Int($0) })
        #expect(abs(seconds - now) < 60)
        let offset = try value("'z' + -new Date().getTimezoneOffset()")
        #expect(offset == "z\(parts.tm_gmtoff / 60)")
    }
}
