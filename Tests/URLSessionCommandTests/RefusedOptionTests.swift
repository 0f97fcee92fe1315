import Foundation
import Testing

@testable import URLSessionCommandCore

/// curl's switches that cannot be kept exactly: each is refused with its advice, however it is written.
@Suite struct RefusedOptionTests {
    /// All of them: the long name, the letter, and the advice.
    private static let table: [(name: String, letter: Character?, advice: String)] = [
        ("append", "a", "a file of an FTP server cannot be extended"),
        ("aws-sigv4", nil, "requests are not signed for AWS"),
        ("capath", nil, "URLSession reads authorities from one file: use --cacert"),
        ("ciphers", nil, "URLSession chooses the cipher suites: see --tls-min"),
        ("continue-at", "C", "use 'urlsession download', which resumes"),
        ("dns-servers", nil, "the system's resolver is used: give addresses with --resolve"),
        ("doh-url", nil, "the system's resolver is used: give addresses with --resolve"),
        ("ftp-port", "P", "FTP is used in passive mode only"),
        ("haproxy-protocol", nil, "URLSession does not send a PROXY line"),
        ("http0.9", nil, "URLSession accepts HTTP/1.0 and later"),
        ("http1.0", "0", "URLSession sends HTTP/1.1 and later"),
        ("http2-prior-knowledge", nil, "HTTP/2 needs https; use --http2"),
        ("interface", nil, "URLSession has no choice of the interface: use -4 or -6"),
        ("list-only", "l", "FTP directories come as the server lists them"),
        ("local-port", nil, "URLSession has no choice of the local port"),
        ("location-trusted", nil, "credentials stay with the first host"),
        ("manual", "M", "use 'urlsession manual'"),
        ("netrc", "n", "no file of passwords is read: use -u"),
        ("netrc-file", nil, "no file of passwords is read: use -u"),
        ("netrc-optional", nil, "no file of passwords is read: use -u"),
        ("next", ":", "all switches hold for all URLs: run the program again"),
        ("post301", nil, "URLSession decides the method after a redirect"),
        ("post302", nil, "URLSession decides the method after a redirect"),
        ("post303", nil, "URLSession decides the method after a redirect"),
        ("preproxy", nil, "there is one proxy: use -x"),
        ("proxytunnel", "p", "a proxy tunnels https only"),
        ("quote", "Q", "URLSession sends no commands of FTP"),
        ("raw", nil, "URLSession always decodes chunked bodies"),
        ("request-target", nil, "URLSession takes the target from the URL"),
        ("socks4", nil, "the proxy resolves names: use -x socks4a://HOST"),
        ("socks4a", nil, "use -x socks4a://HOST"),
        ("socks5", nil, "the proxy resolves names: use -x socks5h://HOST"),
        ("socks5-hostname", nil, "use -x socks5h://HOST"),
        ("speed-limit", "Y", "use --idle-timeout, the limit without progress"),
        ("speed-time", "y", "use --idle-timeout, the limit without progress"),
        ("sslv2", "2", "that version of TLS is broken"),
        ("sslv3", "3", "that version of TLS is broken"),
        ("tcp-fastopen", nil, "URLSession decides about early data"),
        ("telnet-option", "t", "use 'urlsession connect'"),
        ("tr-encoding", nil, "URLSession does not ask for transfer codings"),
        ("trace-ascii", nil, "use -v, --trace or --har FILE"),
        ("use-ascii", "B", "URLSession transfers FTP files byte for byte"),
    ]

    private func failure(_ words: [String], files: ConfigurationFiles = .none) -> UsageError? {
        do throws(UsageError) {
            _ = try Arguments.parse(words, files: files)
            return nil
        } catch {
            return error
        }
    }

    /// The table above is whole: a switch that is added to the program's is added here.
    @Test func tableIsWhole() {
        #expect(Set(RefusedOption.long.keys) == Set(Self.table.map(\.name)))
        let letters = Self.table.compactMap { row in row.letter.map { ($0, row.name) } }
        #expect(RefusedOption.short == Dictionary(uniqueKeysWithValues: letters))
    }

    @Test(arguments: table) func longName(_ name: String, _ letter: Character?, _ advice: String) {
        let error = UsageError("--\(name): \(advice)")
        for words in [["--\(name)"], ["--\(name)=value"], ["--\(name)", "value"]] {
            #expect(failure(words + ["h/a"]) == error)
            #expect(failure(["h/a"] + words) == error)
            for command in ["get", "download", "ws", "connect", "background", "demo", "completion"] {
                #expect(failure([command, "h/a"] + words) == error)
            }
        }
    }

    @Test(arguments: table.filter { $0.letter != nil })
    func letter(_ name: String, _ letter: Character?, _ advice: String) throws {
        let letter = try #require(letter)
        let error = UsageError("-\(letter): \(advice)")
        for words in [["-\(letter)"], ["-\(letter)", "value"], ["-\(letter)value"], ["-s\(letter)"]] {
            #expect(failure(words + ["h/a"]) == error)
            #expect(failure(["h/a"] + words) == error)
        }
    }

    @Test(arguments: table) func lineOfAFile(_ name: String, _ letter: Character?, _ advice: String) {
        var lines = ["\(name)", "\(name) = value", "--\(name)", "--\(name) value"].map { ($0, "--\(name)") }
        if let letter { lines += ["-\(letter)", "-\(letter) value", "-\(letter)value"].map { ($0, "-\(letter)") } }
        for (line, shown) in lines {
            let files = ConfigurationFiles(defaultPath: nil) { _ throws(FileError) in Data("\(line)\n".utf8) }
            #expect(
                failure(["-K", "f", "h/a"], files: files) == UsageError("'f', line 1: \(shown): \(advice)"), "\(line)")
        }
    }
}
