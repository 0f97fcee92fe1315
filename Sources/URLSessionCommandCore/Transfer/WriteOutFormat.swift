/// The text of `-w`: literal text and variables.
package struct WriteOutFormat: Equatable, Sendable {
    enum Part: Equatable, Sendable {
        case text(String)
        case variable(String)
        case field(String)
    }

    let parts: [Part]

    /// The variables whose values are known, as curl names them.
    static let variables: Set<String> = [
        "content_type", "errormsg", "exitcode", "filename_effective", "header_json", "http_code", "http_connect",
        "http_version", "json", "local_ip", "local_port", "method", "num_connects", "num_headers", "num_redirects",
        "onerror", "redirect_url", "referer", "remote_ip", "remote_port", "response_code", "scheme", "size_download",
        "size_header", "size_request", "size_upload", "speed_download", "speed_upload", "stderr", "stdout",
        "time_appconnect", "time_connect", "time_namelookup", "time_pretransfer", "time_redirect",
        "time_starttransfer", "time_total", "url", "url_effective", "urlnum",
    ]

    /// curl's variables whose values URLSession does not report.
    private static let unknown: Set<String> = [
        "certs", "num_certs", "ftp_entry_path", "ssl_verify_result", "proxy_ssl_verify_result", "proxy_used", "xfer_id",
        "conn_id", "num_retries", "time_posttransfer", "time_queue", "tls_earlydata", "size_delivered",
    ]

    package init(_ format: String) throws(UsageError) {
        var parts: [Part] = []
        var text = ""
        var rest = format[...]
        while let character = rest.popFirst() {
            switch character {
            case "\\":
                switch rest.popFirst() {
                case "n": text.append("\n")
                case "r": text.append("\r")
                case "t": text.append("\t")
                case let other?: text += "\\" + String(other)
                case nil: text.append("\\")
                }
            case "%" where rest.first == "%":
                rest.removeFirst()
                text.append("%")
            case "%" where rest.hasPrefix("{"), "%" where rest.hasPrefix("header{"):
                let isField = rest.hasPrefix("header{")
                rest = rest.dropFirst(isField ? 7 : 1)
                guard let end = rest.firstIndex(of: "}") else { throw UsageError("-w: a } is missing in '\(format)'") }
                let name = String(rest[..<end])
                rest = rest[rest.index(after: end)...]
                if !text.isEmpty { parts.append(.text(text)) }
                text = ""
                parts.append(isField ? .field(name) : .variable(try Self.checked(name)))
            case "%" where rest.hasPrefix("output{"): throw UsageError("-w: %output{} writes no file here: use > FILE")
            default: text.append(character)
            }
        }
        if !text.isEmpty { parts.append(.text(text)) }
        self.parts = parts
    }

    private static func checked(_ name: String) throws(UsageError) -> String {
        if variables.contains(name) { return name }
        if unknown.contains(name) { throw UsageError("-w: URLSession does not report %{\(name)}") }
        let nearest = Suggestion.nearest(to: name, among: Array(variables))
        throw UsageError("-w: unknown variable %{\(name)}" + (nearest.map { ": did you mean %{\($0)}?" } ?? ""))
    }
}
