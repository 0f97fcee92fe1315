import Testing

@testable import URLSessionCommandCore

/// The spelling of every switch, apart from the table that the parser reads: a script that uses one would break if it
/// changed.
@Suite struct SpellingTests {
    private static let spellings: [CommandOption: [String]] = [
        .method: ["-X", "--method", "--request"],
        .header: ["-H", "--header"],
        .data: ["-d", "--data", "--data-ascii"],
        .dataBinary: ["--data-binary"],
        .dataRaw: ["--data-raw"],
        .dataURLEncoded: ["--data-urlencode"],
        .json: ["--json"],
        .form: ["-F", "--form"],
        .formString: ["--form-string"],
        .query: ["-G", "--get"],
        .uploadFile: ["-T", "--upload-file"],
        .head: ["-I", "--head"],
        .bearer: ["--oauth2-bearer", "--bearer"],
        .referer: ["-e", "--referer"],
        .userAgent: ["-A", "--user-agent"],
        .range: ["-r", "--range"],
        .timeCondition: ["-z", "--time-cond"],
        .http11: ["--http1.1"],
        .http2: ["--http2"],
        .http3: ["--http3", "--http3-only"],
        .url: ["--url"],
        .cookie: ["-b", "--cookie"],
        .cookieJar: ["-c", "--cookie-jar"],
        .junkSessionCookies: ["-j", "--junk-session-cookies"],
        .session: ["--session"],
        .sessionReadOnly: ["--session-read-only"],
        .timeout: ["-m", "--timeout", "--max-time"],
        .connectTimeout: ["--connect-timeout"],
        .idleTimeout: ["--idle-timeout"],
        .retry: ["--retry"],
        .retryDelay: ["--retry-delay"],
        .retryMaximumTime: ["--retry-max-time"],
        .retryAllErrors: ["--retry-all-errors"],
        .retryRefused: ["--retry-connrefused"],
        .limitRate: ["--limit-rate"],
        .maximumFileSize: ["--max-filesize"],
        .follow: ["-L", "--follow", "--location"],
        .noFollow: ["--no-follow", "--no-location"],
        .maximumRedirects: ["--max-redirects", "--max-redirs"],
        .parallel: ["-Z", "--parallel"],
        .parallelMaximum: ["--parallel-max"],
        .failEarly: ["--fail-early"],
        .proxy: ["-x", "--proxy"],
        .proxyUser: ["-U", "--proxy-user"],
        .noProxy: ["--noproxy"],
        .resolve: ["--resolve"],
        .connectTo: ["--connect-to"],
        .ipv4: ["-4", "--ipv4"],
        .ipv6: ["-6", "--ipv6"],
        .unixSocket: ["--unix-socket"],
        .abstractUnixSocket: ["--abstract-unix-socket"],
        .insecure: ["-k", "--insecure"],
        .authority: ["--cacert"],
        .certificate: ["-E", "--cert"],
        .key: ["--key"],
        .keyPassword: ["--pass"],
        .pin: ["--pin", "--pinnedpubkey"],
        .tlsMinimum: ["--tls-min"],
        .tlsMaximum: ["--tls-max"],
        .tls1: ["-1", "--tlsv1"],
        .tls10: ["--tlsv1.0"],
        .tls11: ["--tlsv1.1"],
        .tls12: ["--tlsv1.2"],
        .tls13: ["--tlsv1.3"],
        .user: ["-u", "--user"],
        .basic: ["--basic"],
        .digest: ["--digest"],
        .negotiate: ["--negotiate"],
        .ntlm: ["--ntlm"],
        .output: ["-o", "--output"],
        .remoteName: ["-O", "--remote-name"],
        .remoteNameAll: ["--remote-name-all"],
        .remoteHeaderName: ["-J", "--remote-header-name"],
        .outputFolder: ["--output-dir"],
        .createFolders: ["--create-dirs"],
        .remoteTime: ["-R", "--remote-time"],
        .include: ["-i", "--include"],
        .dumpHeader: ["-D", "--dump-header"],
        .writeOut: ["-w", "--write-out"],
        .verbose: ["-v", "--verbose"],
        .silent: ["-s", "--silent"],
        .showError: ["-S", "--show-error"],
        .noProgress: ["--no-progress", "--no-progress-meter"],
        .progressBar: ["-#", "--progress-bar"],
        .noBuffer: ["-N", "--no-buffer"],
        .color: ["--color"],
        .fail: ["-f", "--fail"],
        .failWithBody: ["--fail-with-body"],
        .compressed: ["--compressed"],
        .metrics: ["--metrics"],
        .trace: ["--trace"],
        .har: ["--har"],
        .harSecrets: ["--har-with-secrets", "--har-secrets"],
        .configuration: ["-K", "--config"],
        .noDefaults: ["-q", "--disable"],
        .globOff: ["-g", "--globoff"],
        .help: ["-h", "--help"],
        .version: ["-V", "--version"],
        .resume: ["--resume"],
        .noResume: ["--no-resume"],
        .force: ["--force"],
        .subprotocol: ["--protocol"],
        .binary: ["--binary"],
        .whole: ["--whole"],
        .ping: ["--ping"],
        .maximumMessage: ["--max-message"],
        .wait: ["--wait"],
        .tls: ["--tls"],
        .startTLS: ["--starttls"],
        .upload: ["--upload"],
        .discretionary: ["--discretionary"],
    ]

    @Test(arguments: CommandOption.allCases) func everyName(_ option: CommandOption) throws {
        let short = option.short.map { ["-\($0)"] } ?? []
        #expect(Self.spellings[option] == short + ([option.long] + option.facts.aliases).map { "--\($0)" })
    }

    /// What the parser makes of each name, with the switch's own value or none.
    @Test(arguments: CommandOption.allCases) func everyNameIsKnown(_ option: CommandOption) throws {
        for name in try #require(Self.spellings[option]) {
            let parsed =
                name.hasPrefix("--")
                ? CommandOption(long: String(name.dropFirst(2))) : name.last.flatMap { CommandOption(short: $0) }
            #expect(parsed == option, "\(name)")
        }
    }

    /// The command line itself does not refuse any of them as unknown. A switch may miss its value or its command here.
    @Test(arguments: CommandOption.allCases) func noNameIsUnknown(_ option: CommandOption) throws {
        for name in try #require(Self.spellings[option]) {
            do throws(UsageError) {
                _ = try Arguments.parse(["http://h/", name])
            } catch {
                #expect(!"\(error)".contains("unknown switch"), "\(error)")
            }
        }
    }
}
