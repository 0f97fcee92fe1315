/// The table of all switches.
extension CommandOption {
    var facts: Facts {
        switch self {
        case .method:
            Facts(.request, "method", "X", value: "NAME", aliases: ["request"], "the method, such as PUT")
        case .header:
            Facts(.request, "header", "H", value: "LINE", "adds the field 'Name: value'; 'Name:' removes it")
        case .data:
            Facts(
                .request, "data", "d", value: "DATA", aliases: ["data-ascii"],
                "the body, @FILE without its line breaks; several are joined with &")
        case .dataBinary:
            Facts(.request, "data-binary", value: "DATA", "the body, @FILE byte for byte")
        case .dataRaw: Facts(.request, "data-raw", value: "DATA", "the body, in which @ has no meaning")
        case .dataURLEncoded:
            Facts(
                .request, "data-urlencode", value: "DATA",
                "the body, encoded: content, =content, name=content, @FILE or name@FILE")
        case .json:
            Facts(.request, "json", value: "DATA", "sends DATA or @FILE as JSON, and asks for JSON")
        case .form:
            Facts(
                .request, "form", "F", value: "NAME=CONTENT",
                "a part of a multipart form: a text, @FILE, or <FILE for its contents as a text")
        case .formString:
            Facts(.request, "form-string", value: "NAME=TEXT", "a part of a multipart form, in which @ and < are text")
        case .query: Facts(.request, "get", "G", "puts the data into the URL's query, and sends GET")
        case .uploadFile:
            Facts(.request, "upload-file", "T", value: "FILE", "sends the file with PUT; - is standard input")
        case .head: Facts(.request, "head", "I", "sends HEAD")
        case .bearer:
            Facts(.request, "oauth2-bearer", value: "TOKEN", aliases: ["bearer"], "sends Authorization: Bearer TOKEN")
        case .referer: Facts(.request, "referer", "e", value: "URL", "sends Referer")
        case .userAgent: Facts(.request, "user-agent", "A", value: "TEXT", "sends User-Agent")
        case .range: Facts(.request, "range", "r", value: "RANGE", "only these bytes: 0-499, 500- or -500")
        case .timeCondition:
            Facts(
                .request, "time-cond", "z", value: "DATE|FILE",
                "only if it is newer than the date or the file; older, with - before it")
        case .http11: Facts(.request, "http1.1", "only HTTP/1.1")
        case .http2: Facts(.request, "http2", "only HTTP/2")
        case .http3: Facts(.request, "http3", aliases: ["http3-only"], "only HTTP/3")
        case .url: Facts(.request, "url", value: "URL", "a URL, as without a switch")
        case .cookie:
            Facts(.cookies, "cookie", "b", value: "TEXT|FILE", "sends cookies: 'a=b; c=d', or those of a file")
        case .cookieJar:
            Facts(.cookies, "cookie-jar", "c", value: "FILE", "writes all cookies to the file at the end")
        case .junkSessionCookies:
            Facts(.cookies, "junk-session-cookies", "j", "leaves out the file's cookies that end with a session")
        case .session:
            Facts(
                .cookies, "session", value: "NAME",
                "keeps cookies, user and header fields for the host under a name; a name with / is a file")
        case .sessionReadOnly:
            Facts(.cookies, "session-read-only", value: "NAME", "the same, without a change of what is kept")
        case .timeout:
            Facts(.time, "timeout", "m", value: "SECONDS", aliases: ["max-time"], "the limit for the whole load")
        case .connectTimeout:
            Facts(.time, "connect-timeout", value: "SECONDS", "the limit until a connection is there")
        case .idleTimeout: Facts(.time, "idle-timeout", value: "SECONDS", "the limit without any progress")
        case .retry: Facts(.time, "retry", value: "COUNT", "tries again after a failure that may pass")
        case .retryDelay: Facts(.time, "retry-delay", value: "SECONDS", "the time between two tries")
        case .retryMaximumTime: Facts(.time, "retry-max-time", value: "SECONDS", "the time in which a try may begin")
        case .retryAllErrors: Facts(.time, "retry-all-errors", "tries again after any failure")
        case .retryRefused: Facts(.time, "retry-connrefused", "tries again also if no connection is possible")
        case .limitRate: Facts(.time, "limit-rate", value: "SIZE", "the most bytes in a second, such as 200K")
        case .maximumFileSize:
            Facts(.time, "max-filesize", value: "SIZE", "the largest body to receive, in bytes or as 10M")
        case .follow: Facts(.redirects, "follow", "L", aliases: ["location"], "follows redirects, as by default")
        case .noFollow: Facts(.redirects, "no-follow", aliases: ["no-location"], "shows the redirect itself")
        case .maximumRedirects:
            Facts(.redirects, "max-redirects", value: "COUNT", aliases: ["max-redirs"], "the most redirects to follow")
        case .parallel: Facts(.series, "parallel", "Z", "loads all URLs at once")
        case .parallelMaximum: Facts(.series, "parallel-max", value: "COUNT", "the most loads at once; 50 by default")
        case .failEarly: Facts(.series, "fail-early", "ends with the first load that fails")
        case .proxy:
            Facts(.connection, "proxy", "x", value: "URL", "http://, https://, socks5h:// or socks4a://; '' for none")
        case .proxyUser: Facts(.connection, "proxy-user", "U", value: "NAME:PASSWORD", "the user for the proxy")
        case .noProxy:
            Facts(.connection, "noproxy", value: "HOSTS", "hosts without a proxy, separated by commas; '*' for all")
        case .resolve:
            Facts(.connection, "resolve", value: "HOST:PORT:ADDRESS", "the addresses of a host, separated by commas")
        case .connectTo:
            Facts(
                .connection, "connect-to", value: "HOST:PORT:HOST:PORT",
                "connects to the second host instead of the first")
        case .ipv4: Facts(.connection, "ipv4", "4", "only addresses of IPv4")
        case .ipv6: Facts(.connection, "ipv6", "6", "only addresses of IPv6")
        case .unixSocket: Facts(.connection, "unix-socket", value: "PATH", "connects through a socket of this machine")
        case .abstractUnixSocket:
            Facts(.connection, "abstract-unix-socket", value: "NAME", "the same for a socket that is not a file")
        case .insecure: Facts(.trust, "insecure", "k", "accepts any certificate")
        case .authority: Facts(.trust, "cacert", value: "FILE", "trusts only the authorities of the file")
        case .certificate:
            Facts(.trust, "cert", "E", value: "FILE[:PASSWORD]", "the client's certificate, PEM or PKCS #12")
        case .key: Facts(.trust, "key", value: "FILE", "the private key of --cert, if it is in a file of its own")
        case .keyPassword: Facts(.trust, "pass", value: "TEXT", "the password of the private key")
        case .pin:
            Facts(
                .trust, "pin", value: "sha256//BASE64", aliases: ["pinnedpubkey"],
                "the hash that the server's key must have")
        case .tlsMinimum: Facts(.trust, "tls-min", value: "VERSION", "the lowest version of TLS: 1.0, 1.1, 1.2 or 1.3")
        case .tlsMaximum: Facts(.trust, "tls-max", value: "VERSION", "the highest version of TLS, or default")
        case .tls1: Facts(.trust, "tlsv1", "1", "TLS 1.0 or later")
        case .tls10: Facts(.trust, "tlsv1.0", "TLS 1.0 or later")
        case .tls11: Facts(.trust, "tlsv1.1", "TLS 1.1 or later")
        case .tls12: Facts(.trust, "tlsv1.2", "TLS 1.2 or later, as by default")
        case .tls13: Facts(.trust, "tlsv1.3", "TLS 1.3")
        case .user: Facts(.user, "user", "u", value: "NAME:PASSWORD", "the answer to the server's challenge")
        case .basic: Facts(.user, "basic", "allows Basic")
        case .digest: Facts(.user, "digest", "allows Digest")
        case .negotiate: Facts(.user, "negotiate", "allows Negotiate")
        case .ntlm: Facts(.user, "ntlm", "allows NTLM")
        case .output: Facts(.output, "output", "o", value: "FILE", "writes to the file; - is standard output")
        case .remoteName: Facts(.output, "remote-name", "O", "writes to a file named like the end of the URL's path")
        case .remoteNameAll: Facts(.output, "remote-name-all", "the same for all URLs")
        case .remoteHeaderName: Facts(.output, "remote-header-name", "J", "lets the server name the file of -O")
        case .outputFolder: Facts(.output, "output-dir", value: "FOLDER", "the folder for the files of -o and -O")
        case .createFolders: Facts(.output, "create-dirs", "creates the folders of -o and --output-dir")
        case .remoteTime: Facts(.output, "remote-time", "R", "gives the file the time of the server's")
        case .include: Facts(.output, "include", "i", "prints the head before the body")
        case .dumpHeader: Facts(.output, "dump-header", "D", value: "FILE", "writes the heads to the file")
        case .writeOut:
            Facts(
                .output, "write-out", "w", value: "FORMAT", "prints a text at the end, with variables as %{http_code}")
        case .verbose: Facts(.output, "verbose", "v", "prints heads and events; -vv shows secrets too")
        case .silent: Facts(.output, "silent", "s", "prints only the body")
        case .showError: Facts(.output, "show-error", "S", "prints error messages despite -s")
        case .noProgress: Facts(.output, "no-progress", aliases: ["no-progress-meter"], "draws no progress bar")
        case .progressBar: Facts(.output, "progress-bar", "#", "draws a progress bar, as by default")
        case .noBuffer: Facts(.output, "no-buffer", "N", "writes what arrives at once, as by default")
        case .color: Facts(.output, "color", value: "WHEN", "auto, always or never")
        case .fail: Facts(.output, "fail", "f", "a status of 400 or more is a failure, without its body")
        case .failWithBody: Facts(.output, "fail-with-body", "the same, but the body is printed")
        case .compressed: Facts(.output, "compressed", "asks for a compressed body, as by default")
        case .metrics: Facts(.insight, "metrics", "draws a waterfall of times")
        case .trace: Facts(.insight, "trace", "prints every call of a delegate")
        case .har: Facts(.insight, "har", value: "FILE", "writes an HTTP archive")
        case .harSecrets: Facts(.insight, "har-with-secrets", aliases: ["har-secrets"], "leaves the secrets in it")
        case .configuration:
            Facts(.general, "config", "K", value: "FILE", "reads switches from the file; - is standard input")
        case .noDefaults: Facts(.general, "disable", "q", "as the first switch: does not read the default file")
        case .globOff: Facts(.general, "globoff", "g", "takes {} and [] in URLs as they are, as always")
        case .help: Facts(.general, "help", "h", "prints a screen of help")
        case .version: Facts(.general, "version", "V", "prints the version")
        case .resume: Facts(.download, "resume", "resumes an earlier run, as by default")
        case .noResume: Facts(.download, "no-resume", "starts from the beginning")
        case .force: Facts(.download, "force", "replaces an existing file")
        case .subprotocol: Facts(.webSocket, "protocol", value: "NAME", "offers a subprotocol")
        case .binary: Facts(.webSocket, "binary", "sends binary messages")
        case .whole: Facts(.webSocket, "whole", "sends all of standard input as one message")
        case .ping: Facts(.webSocket, "ping", value: "SECONDS", "pings a server that is silent for so long")
        case .maximumMessage: Facts(.webSocket, "max-message", value: "SIZE", "the largest message to receive")
        case .wait: Facts(.webSocket, "wait", value: "SECONDS", "closes when no message has come for so long")
        case .tls: Facts(.connect, "tls", "TLS from the first byte")
        case .startTLS: Facts(.connect, "starttls", value: "PROTOCOL", "TLS after the plain-text steps of the protocol")
        case .upload: Facts(.background, "upload", value: "FILE", "sends the file")
        case .discretionary: Facts(.background, "discretionary", "waits for mains power and a network without a meter")
        }
    }
}
