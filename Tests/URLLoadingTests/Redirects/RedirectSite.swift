import Foundation
import TestSupport
import URLLoading

/// Cleartext and TLS servers that redirect `/STATUS?TARGET` to the target, and return the request at `/end/NUMBER`.
protocol RedirectSite: Sendable {
    /// A URL of the cleartext or TLS server, with one of its two names.
    func url(_ path: String, isSecure: Bool, host: String) -> URL
    /// The body of the redirect response; nil if it is not known.
    func page(of row: RedirectCase) -> String?
    /// Stops the servers, and returns the numbers of the rows that were redirected, in order.
    func arrived() throws -> [Int]
}

extension RedirectSite {
    func target(of row: RedirectCase) -> URL {
        let host = row.destination.endsElsewhere ? "127.0.0.1" : "localhost"
        return url("/end/\(row.number)", isSecure: row.destination.endsSecure, host: host)
    }

    func start(of row: RedirectCase) -> URL {
        let target = target(of: row).absoluteString
        return url("/\(row.status)?\(target)", isSecure: row.destination.beginsSecure, host: "localhost")
    }
}

/// Scripted servers, which also report what the body was.
struct ScriptedRedirectSite: RedirectSite {
    private let clear: ScriptedServer
    private let secure: ScriptedServer

    init() throws {
        clear = try ScriptedServer.answering { Self.answer($0) }
        secure = try ScriptedServer.answering(tls: TrustedAuthority.server()) { Self.answer($0) }
    }

    private static func answer(_ request: ReceivedRequest) -> CannedResponse {
        guard !request.path.hasPrefix("/end/") else {
            return .text(
                RedirectedRequest(
                    method: request.method, length: request["Content-Length"] ?? "",
                    coding: request["Transfer-Encoding"] ?? "", authorization: request["Authorization"] ?? "",
                    cookie: request["Cookie"] ?? "", referer: request["Referer"] ?? "",
                    origin: request["Origin"] ?? "", own: request["X-Own"] ?? "",
                    type: request["Content-Type"] ?? ""
                ).text)
        }
        let status = Int(request.path.dropFirst()) ?? 500
        let response = status == 304 ? CannedResponse.status(304) : .text("page", status: status)
        return response.with(field: "Location", request.query ?? "")
    }

    func stop() {
        clear.stop()
        secure.stop()
    }

    func url(_ path: String, isSecure: Bool, host: String) -> URL { (isSecure ? secure : clear).url(path, host: host) }

    func page(of row: RedirectCase) -> String? { "page" }

    func arrived() -> [Int] { bodies.keys.sorted() }

    /// The bodies that arrived, by the number of the row.
    var bodies: [Int: String] {
        let requests = (clear.requests + secure.requests).filter { $0.path.hasPrefix("/end/") }
        return Dictionary(
            requests.map { (Int($0.path.dropFirst(5)) ?? -1, $0.bodyText) }, uniquingKeysWith: { "\($0), then \($1)" })
    }
}

/// nginx.
struct NginxRedirectSite: RedirectSite {
    private let server: NginxServer

    init() throws {
        var options = NginxServer.Options()
        options.offersHTTP2 = false
        options.directives =
            RedirectCase.statuses.map { status in
                // Of these alone nginx knows that they lead elsewhere.
                [301, 302, 303, 307, 308].contains(status)
                    ? "location = /\(status) { return \(status) $args; }"
                    : "location = /\(status) { add_header Location $args always; return \(status) page; }"
            }.joined(separator: "\n")
                + """

                location /end/ {
                    default_type text/plain;
                    return 200 "$request_method|$http_content_length|$http_transfer_encoding|$http_authorization|\
                $http_cookie|$http_referer|$http_origin|$http_x_own|$http_content_type";
                }
                """
        server = try NginxServer(authority: TrustedAuthority.authority, options: options)
    }

    func stop() { server.stop() }

    func url(_ path: String, isSecure: Bool, host: String) -> URL {
        isSecure ? server.secureURL(path, host: host) : server.url(path, host: host)
    }

    func page(of row: RedirectCase) -> String? { row.isFollowed && ![305, 306].contains(row.status) ? nil : "page" }

    func arrived() throws -> [Int] {
        server.stop()
        return server.log.compactMap { request in
            let path = request.line.split(separator: " ").dropFirst().first ?? ""
            return path.hasPrefix("/end/") ? Int(path.dropFirst(5)) : nil
        }.sorted()
    }
}
