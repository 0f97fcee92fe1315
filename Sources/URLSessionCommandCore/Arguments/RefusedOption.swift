/// curl's switches that cannot be kept exactly. They are refused with advice, never ignored.
enum RefusedOption {
    /// Why the switch with this long name is refused; nil if it is not one of curl's.
    static func advice(long name: String) -> String? { long[name] }

    static func advice(short name: Character) -> String? { short[name].flatMap { long[$0] } }

    static let short: [Character: String] = [
        "C": "continue-at", "n": "netrc", "0": "http1.0", "2": "sslv2", "3": "sslv3", "P": "ftp-port", "Q": "quote",
        "a": "append", "B": "use-ascii", "l": "list-only", "p": "proxytunnel", "t": "telnet-option", "M": "manual",
        "y": "speed-time", "Y": "speed-limit", ":": "next",
    ]

    static let long: [String: String] = [
        "append": "a file of an FTP server cannot be extended",
        "aws-sigv4": "requests are not signed for AWS",
        "capath": "URLSession reads authorities from one file: use --cacert",
        "ciphers": "URLSession chooses the cipher suites: see --tls-min",
        "continue-at": "use 'urlsession download', which resumes",
        "dns-servers": "the system's resolver is used: give addresses with --resolve",
        "doh-url": "the system's resolver is used: give addresses with --resolve",
        "ftp-port": "FTP is used in passive mode only",
        "haproxy-protocol": "URLSession does not send a PROXY line",
        "http0.9": "URLSession accepts HTTP/1.0 and later",
        "http1.0": "URLSession sends HTTP/1.1 and later",
        "http2-prior-knowledge": "HTTP/2 needs https; use --http2",
        "interface": "URLSession has no choice of the interface: use -4 or -6",
        "list-only": "FTP directories come as the server lists them",
        "local-port": "URLSession has no choice of the local port",
        "location-trusted": "credentials stay with the first host",
        "manual": "use 'urlsession manual'",
        "netrc": "no file of passwords is read: use -u",
        "netrc-file": "no file of passwords is read: use -u",
        "netrc-optional": "no file of passwords is read: use -u",
        "next": "all switches hold for all URLs: run the program again",
        "post301": "URLSession decides the method after a redirect",
        "post302": "URLSession decides the method after a redirect",
        "post303": "URLSession decides the method after a redirect",
        "preproxy": "there is one proxy: use -x",
        "proxytunnel": "a proxy tunnels https only",
        "quote": "URLSession sends no commands of FTP",
        "raw": "URLSession always decodes chunked bodies",
        "request-target": "URLSession takes the target from the URL",
        "socks4": "the proxy resolves names: use -x socks4a://HOST",
        "socks4a": "use -x socks4a://HOST",
        "socks5": "the proxy resolves names: use -x socks5h://HOST",
        "socks5-hostname": "use -x socks5h://HOST",
        "speed-limit": "use --idle-timeout, the limit without progress",
        "speed-time": "use --idle-timeout, the limit without progress",
        "sslv2": "that version of TLS is broken",
        "sslv3": "that version of TLS is broken",
        "tcp-fastopen": "URLSession decides about early data",
        "telnet-option": "use 'urlsession connect'",
        "tr-encoding": "URLSession does not ask for transfer codings",
        "trace-ascii": "use -v, --trace or --har FILE",
        "use-ascii": "URLSession transfers FTP files byte for byte",
    ]
}
