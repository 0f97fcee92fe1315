import Foundation
import Testing

@testable import URLSessionCommandCore

/// curl's switches that cannot be kept exactly: each is refused with its advice, however it is written.
@Suite struct RefusedOptionTests {
    /// All of them: the long name, the letter, and the advice.
    private static let table: [(name: String, letter: Character?, advice: String)] = [
        ("alt-svc", nil, "URLSession keeps that knowledge for one run"),
        ("anyauth", nil, "every scheme is allowed unless one is named: leave it out"),
        ("append", "a", "a file of an FTP server cannot be extended"),
        ("aws-sigv4", nil, "requests are not signed for AWS"),
        ("capath", nil, "URLSession reads authorities from one file: use --cacert"),
        ("cert-type", nil, "PEM and PKCS #12 are recognised: leave it out"),
        ("ciphers", nil, "URLSession chooses the cipher suites: see --tls-min"),
        ("continue-at", "C", "use 'urlsession download', which resumes"),
        ("crlfile", nil, "URLSession reads no lists of revoked certificates"),
        ("curves", nil, "URLSession chooses the groups of the key exchange"),
        ("dns-servers", nil, "the system's resolver is used: give addresses with --resolve"),
        ("doh-url", nil, "the system's resolver is used: give addresses with --resolve"),
        ("etag-compare", nil, "use -z, or -H 'If-None-Match: …'"),
        ("etag-save", nil, "use -D, which writes the response's fields"),
        ("expect100-timeout", nil, "URLSession decides how long it waits for 100 Continue"),
        ("ftp-port", "P", "FTP is used in passive mode only"),
        ("happy-eyeballs-timeout-ms", nil, "URLSession decides about that time: use -4 or -6"),
        ("haproxy-protocol", nil, "URLSession does not send a PROXY line"),
        ("hsts", nil, "URLSession keeps that knowledge for one run"),
        ("http0.9", nil, "URLSession accepts HTTP/1.0 and later"),
        ("http1.0", "0", "URLSession sends HTTP/1.1 and later"),
        ("http2-prior-knowledge", nil, "HTTP/2 needs https; use --http2"),
        ("ignore-content-length", nil, "URLSession always checks the length of a body"),
        ("interface", nil, "URLSession has no choice of the interface: use -4 or -6"),
        ("keepalive-time", nil, "URLSession decides about probes of TCP"),
        ("key-type", nil, "the type of a key is recognised: leave it out"),
        ("list-only", "l", "FTP directories come as the server lists them"),
        ("local-port", nil, "URLSession has no choice of the local port"),
        ("location-trusted", nil, "credentials stay with the first host"),
        ("manual", "M", "use 'urlsession manual'"),
        ("netrc", "n", "no file of passwords is read: use -u"),
        ("netrc-file", nil, "no file of passwords is read: use -u"),
        ("netrc-optional", nil, "no file of passwords is read: use -u"),
        ("next", ":", "all switches hold for all URLs: run the program again"),
        ("no-clobber", nil, "use 'urlsession download', which replaces no file without --force"),
        ("no-keepalive", nil, "URLSession decides about probes of TCP"),
        ("path-as-is", nil, "paths are always sent as they are: leave it out"),
        ("post301", nil, "URLSession decides the method after a redirect"),
        ("post302", nil, "URLSession decides the method after a redirect"),
        ("post303", nil, "URLSession decides the method after a redirect"),
        ("preproxy", nil, "there is one proxy: use -x"),
        ("proto", nil, "write the scheme into the URL, and use --no-follow if no redirect may change it"),
        ("proto-default", nil, "write the scheme into the URL"),
        ("proto-redir", nil, "use --no-follow and look at the redirect"),
        ("proxy-anyauth", nil, "every scheme is allowed for proxies: leave it out"),
        ("proxy-basic", nil, "the proxy chooses the scheme: use -U"),
        ("proxy-cacert", nil, "--cacert is for proxies too"),
        ("proxy-digest", nil, "the proxy chooses the scheme: use -U"),
        ("proxy-header", nil, "URLSession sends its own fields to proxies: use -U for the user"),
        ("proxy-insecure", nil, "-k is for proxies too"),
        ("proxy-negotiate", nil, "the proxy chooses the scheme: use -U"),
        ("proxy-ntlm", nil, "the proxy chooses the scheme: use -U"),
        ("proxy1.0", nil, "URLSession sends HTTP/1.1 and later: use -x"),
        ("proxytunnel", "p", "a proxy tunnels https only"),
        ("quote", "Q", "URLSession sends no commands of FTP"),
        ("rate", nil, "run the program again after a time of your own"),
        ("raw", nil, "URLSession always decodes chunked bodies"),
        ("remove-on-error", nil, "use 'urlsession download', which leaves no incomplete file"),
        ("request-target", nil, "URLSession takes the target from the URL"),
        ("socks4", nil, "the proxy resolves names: use -x socks4a://HOST"),
        ("socks4a", nil, "use -x socks4a://HOST"),
        ("socks5", nil, "the proxy resolves names: use -x socks5h://HOST"),
        ("socks5-hostname", nil, "use -x socks5h://HOST"),
        ("speed-limit", "Y", "use --idle-timeout, the limit without progress"),
        ("speed-time", "y", "use --idle-timeout, the limit without progress"),
        ("sslv2", "2", "that version of TLS is broken"),
        ("sslv3", "3", "that version of TLS is broken"),
        ("stderr", nil, "use 2> FILE of the shell"),
        ("styled-output", nil, "use --color"),
        ("tcp-fastopen", nil, "URLSession decides about early data"),
        ("telnet-option", "t", "use 'urlsession connect'"),
        ("tls13-ciphers", nil, "URLSession chooses the cipher suites: see --tls-min"),
        ("tr-encoding", nil, "URLSession does not ask for transfer codings"),
        ("trace-ascii", nil, "use -v, --trace or --har FILE"),
        ("trace-time", nil, "use --metrics, or --har FILE"),
        ("url-query", nil, "use -G with --data-urlencode"),
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
