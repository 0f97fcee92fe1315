import Foundation
import LoadingEvents
import URLLoading

/// The values of `-w` after a load.
struct WriteOut {
    let command: CommandLineRequest
    var metrics: URLSessionTaskMetrics?
    var response: URLResponse?
    /// The last response head, and the size of all of them as text.
    var head: MessageHead?
    var headBytes = 0
    var tunnelExchanges: [HeadRecorder.TunnelExchange] = []
    var failure: TransferFailure?
    var fileName: String?

    private enum Value {
        case text(String?)
        case number(Int64)
        case seconds(Double)
    }

    /// What is written, and whether to standard error, in order.
    func output(_ format: WriteOutFormat) -> [(text: String, isError: Bool)] {
        var output: [(text: String, isError: Bool)] = []
        var isError = false
        func add(_ text: String) { output.append((text, isError)) }
        for part in format.parts {
            switch part {
            case .text(let text): add(text)
            case .field(let name):
                add(head?.fields.first { $0.name.lowercased() == name.lowercased() }?.value ?? "")
            // The rest is for failures.
            case .variable("onerror"): if exitCode == 0 { return output }
            case .variable("stderr"): isError = true
            case .variable("stdout"): isError = false
            case .variable("json"): add(json)
            case .variable("header_json"): add(fieldsAsJSON)
            case .variable(let name):
                switch value(name) {
                case .text(let text): add(text ?? "")
                case .number(let number):
                    add(
                        ["http_code", "response_code", "http_connect"].contains(name)
                            ? String(repeating: "0", count: max(0, 3 - "\(number)".count)) + "\(number)" : "\(number)")
                case .seconds(let seconds): add(Quantity.fixed(seconds, 6))
                }
            }
        }
        return output
    }

    private var exitCode: Int32 { failure?.exitCode.rawValue ?? 0 }
    private var transactions: [URLSessionTaskTransactionMetrics] { metrics?.transactionMetrics ?? [] }
    private var last: URLSessionTaskTransactionMetrics? { transactions.last }
    private var duration: Double { metrics?.taskInterval.duration ?? 0 }

    private func value(_ name: String) -> Value {
        switch name {
        case "content_type": .text(head?.fields.last { $0.name.lowercased() == "content-type" }?.value)
        case "errormsg": .text(failure?.message)
        case "exitcode": .number(Int64(exitCode))
        case "filename_effective": .text(fileName)
        case "http_code", "response_code": .number(Int64((response as? HTTPURLResponse)?.statusCode ?? headStatus ?? 0))
        case "http_connect": .number(Int64(tunnelStatus))
        case "http_version": .text(version)
        case "local_ip": .text(last?.localAddress)
        case "local_port": .number(Int64(last?.localPort ?? 0))
        case "remote_ip": .text(last?.remoteAddress)
        case "remote_port": .number(Int64(last?.remotePort ?? 0))
        case "method": .text(last?.request.httpMethod ?? command.method)
        case "num_connects": .number(Int64(transactions.filter { $0.connectStartDate != nil }.count))
        case "num_headers": .number(Int64(head?.fields.count ?? 0))
        case "num_redirects": .number(Int64(metrics?.redirectCount ?? 0))
        case "redirect_url": .text(redirectURL)
        case "referer": .text(command.referer)
        case "scheme": .text((response?.url ?? last?.request.url)?.scheme?.uppercased())
        case "size_download": .number(last?.countOfResponseBodyBytesReceived ?? 0)
        case "size_header": .number(Int64(headBytes))
        case "size_request": .number(transactions.reduce(0) { $0 + $1.countOfRequestHeaderBytesSent })
        case "size_upload": .number(last?.countOfRequestBodyBytesSent ?? 0)
        case "speed_download": .number(rate(last?.countOfResponseBodyBytesReceived))
        case "speed_upload": .number(rate(last?.countOfRequestBodyBytesSent))
        case "time_namelookup": .seconds(time { $0.domainLookupEndDate })
        case "time_connect": .seconds(time { $0.secureConnectionStartDate ?? $0.connectEndDate })
        case "time_appconnect": .seconds(time { $0.secureConnectionEndDate })
        case "time_pretransfer": .seconds(time { $0.requestStartDate })
        case "time_starttransfer": .seconds(time { $0.responseStartDate })
        case "time_redirect": .seconds(redirectTime)
        case "time_total": .seconds(duration)
        case "url": .text(command.url)
        case "url_effective": .text((response?.url ?? last?.request.url)?.absoluteString ?? command.url)
        case "urlnum": .number(Int64(command.number))
        // `WriteOutFormat` accepts no other name.
        default: .text(nil)
        }
    }

    private var headStatus: Int? {
        if case .response(let status, _)? = head?.start { status } else { nil }
    }

    private var tunnelStatus: Int {
        if case .response(let status, _)? = tunnelExchanges.last?.response?.start { status } else { 0 }
    }

    private var version: String {
        switch last?.networkProtocolName {
        case "h2": "2"
        case "h3": "3"
        case let name?: name.hasPrefix("http/") ? String(name.dropFirst(5)) : "0"
        case nil: "0"
        }
    }

    /// Where a redirect leads that was not followed.
    private var redirectURL: String? {
        guard let http = response as? HTTPURLResponse, 300..<400 ~= http.statusCode,
            let location = http.value(forHTTPHeaderField: "Location")
        else { return nil }
        return URL(string: location, relativeTo: http.url)?.absoluteString ?? location
    }

    private func rate(_ count: Int64?) -> Int64 {
        guard let count, duration > 0 else { return 0 }
        return Int64(min(Double(count) / duration, 1e15))
    }

    /// The sum of all requests, as in curl, of the time from each request's start.
    private func time(_ date: (URLSessionTaskTransactionMetrics) -> Date?) -> Double {
        transactions.reduce(0) { sum, transaction in
            guard let start = transaction.fetchStartDate, let end = date(transaction) else { return sum }
            return sum + max(0, end.timeIntervalSince(start))
        }
    }

    private var redirectTime: Double {
        guard metrics?.redirectCount ?? 0 > 0, let start = transactions.first?.fetchStartDate,
            let end = last?.fetchStartDate
        else { return 0 }
        return max(0, end.timeIntervalSince(start))
    }

    // MARK: JSON

    private var json: String {
        let names = WriteOutFormat.variables.subtracting(["json", "header_json", "onerror", "stderr", "stdout"])
            .sorted()
        let members = names.map { name in
            let value: String =
                switch value(name) {
                case .text(let text?): Self.quoted(text)
                case .text(nil): "null"
                case .number(let number): "\(number)"
                case .seconds(let seconds): Quantity.fixed(seconds, 6)
                }
            return "\"\(name)\":\(value)"
        }
        return "{" + members.joined(separator: ",") + "}"
    }

    private var fieldsAsJSON: String {
        var names: [String] = []
        var values: [String: [String]] = [:]
        for field in head?.fields ?? [] {
            let name = field.name.lowercased()
            if values[name] == nil { names.append(name) }
            values[name, default: []].append(Self.quoted(field.value))
        }
        let members = names.map { "\(Self.quoted($0)):[\((values[$0] ?? []).joined(separator: ","))]" }
        return "{" + members.joined(separator: ",\n") + "\n}"
    }

    private static func quoted(_ text: String) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .withoutEscapingSlashes
        guard let data = try? encoder.encode(text) else { return "null" }
        return String(decoding: data, as: UTF8.self)
    }
}
