import Foundation
import TestSupport
import Testing

/// A server with certain limits, and the load pattern: a row of the table of lost requests.
struct LimitedServer: Sendable, CustomTestStringConvertible {
    enum Make: Sendable {
        case nginx(requests: Int = 1000, timeout: Int = 60, more: String = "")
        case apache(requests: Int, processing: String = "event")
        case caddy
        case packaged(PackagedServer.Make)

        /// The missing packages.
        var missing: ServerFarm.Missing? {
            switch self {
            case .nginx: ServerFarm.Part.nginx.missing
            case .apache: ServerFarm.Part.apache2.missing
            case .caddy: ServerFarm.Part.caddy.missing
            case .packaged(let make): make.missing
            }
        }
    }

    let make: Make
    var offersHTTP2 = true
    /// The number of concurrent requests.
    var concurrency = 200
    /// The interval at which it replaces its workers; nil for never.
    var reloads: Duration?
    /// The pause of each task between two requests: about the server's idle timeout.
    var idleSeconds = 0

    /// Whether a connection that ends says which requests were not processed (RFC 9113 §6.8). HTTP/1.1 has no word for
    /// it, and what was processed before a reset may have no answer. Apache that is restarted gracefully ends some
    /// connections, with requests on them, without a word.
    var reportsProcessedRequests: Bool {
        switch make {
        case .nginx(_, _, Self.withoutLingering): false
        case .apache where reloads != nil: false
        default: offersHTTP2
        }
    }

    /// Whether a connection may end during a response: a reset discards data that the client has not read yet.
    var cutsResponses: Bool {
        if case .nginx(_, _, Self.withoutLingering) = make { true } else { false }
    }

    /// Makes nginx close connections with unread data, so that the kernel resets them.
    static let withoutLingering = "lingering_close off;"

    var testDescription: String {
        var words: [String]
        switch make {
        case .nginx(let requests, let timeout, let more):
            words = ["nginx", "keepalive_requests \(requests)", "keepalive_timeout \(timeout)", more]
        case .apache(let requests, let processing):
            words = ["Apache, \(processing)", "MaxKeepAliveRequests \(requests)"]
        case .caddy: words = ["Caddy"]
        case .packaged(let make): words = [make.rawValue]
        }
        words += [offersHTTP2 ? "h2" : "http/1.1", "\(concurrency) at once"]
        if let reloads { words.append("reloaded every \(Double(reloads / .milliseconds(1)) / 1000) s") }
        if idleSeconds > 0 { words.append("idle for \(idleSeconds) s") }
        return words.filter { !$0.isEmpty }.joined(separator: ", ")
    }

    /// Starts it. The second value replaces its workers.
    func start() throws -> (server: any FarmServer, reload: @Sendable () -> Void) {
        let authority = try TrustedAuthority.authority
        let files = ["small": Array("small".utf8)]
        switch make {
        case .nginx(let requests, let timeout, let more):
            var options = NginxServer.Options()
            options.keepAliveRequests = requests
            options.keepAliveTimeout = timeout
            options.offersHTTP2 = offersHTTP2
            options.directives = "location = /post { return 200; }\n" + more
            let server = try NginxServer(files: files, authority: authority, options: options)
            return (server, { server.reload() })
        case .apache(let requests, let processing):
            let server = try ApacheServer(
                files: files, authority: authority, offersHTTP2: offersHTTP2, processing: processing,
                directives: "MaxKeepAliveRequests \(requests)")
            return (server, { server.restartGracefully() })
        case .caddy:
            return (
                try CaddyServer(files: files, authority: authority, protocols: offersHTTP2 ? ["h1", "h2"] : ["h1"]), {}
            )
        case .packaged(let make):
            return (try PackagedServer(make, offersHTTP2: offersHTTP2, authority: authority), {})
        }
    }
}

extension LimitedServer {
    /// Each ordinary server at its defaults, and at its usual limits.
    static let all: [LimitedServer] = nginx(isHTTP2: true) + nginx(isHTTP2: false) + streams + apache + others + idle

    private static func nginx(isHTTP2: Bool) -> [LimitedServer] {
        var rows: [LimitedServer] = []
        for requests in [5, 100, 1000] {
            for count in [12, 200] {
                rows.append(LimitedServer(make: .nginx(requests: requests), offersHTTP2: isHTTP2, concurrency: count))
            }
        }
        for seconds in [0, 1, 5] {
            rows.append(LimitedServer(make: .nginx(timeout: seconds), offersHTTP2: isHTTP2, idleSeconds: seconds))
        }
        for (requests, count) in [(5, 12), (5, 200), (1000, 200)] {
            rows.append(
                LimitedServer(
                    make: .nginx(requests: requests), offersHTTP2: isHTTP2, concurrency: count,
                    reloads: .milliseconds(500)))
        }
        for requests in [5, 100] {
            let make = Make.nginx(requests: requests, more: withoutLingering)
            rows.append(LimitedServer(make: make, offersHTTP2: isHTTP2))
        }
        return rows
    }

    private static var streams: [LimitedServer] {
        [1, 8, 128].map { LimitedServer(make: .nginx(more: "http2_max_concurrent_streams \($0);")) }
    }

    private static var apache: [LimitedServer] {
        var rows: [LimitedServer] = []
        // With processes alone it does not support HTTP/2.
        for (processing, isHTTP2) in [("event", true), ("event", false), ("prefork", false)] {
            for requests in [1, 5, 100] {
                let make = Make.apache(requests: requests, processing: processing)
                rows.append(LimitedServer(make: make, offersHTTP2: isHTTP2))
                if requests == 100 {
                    rows.append(LimitedServer(make: make, offersHTTP2: isHTTP2, reloads: .milliseconds(500)))
                }
            }
        }
        return rows
    }

    private static var others: [LimitedServer] {
        var rows: [LimitedServer] = []
        for isHTTP2 in [true, false] {
            rows.append(LimitedServer(make: .caddy, offersHTTP2: isHTTP2))
            for make in PackagedServer.Make.allCases where make.speaksHTTP2 || !isHTTP2 {
                rows.append(LimitedServer(make: .packaged(make), offersHTTP2: isHTTP2))
            }
        }
        return rows
    }

    private static var idle: [LimitedServer] {
        [
            LimitedServer(make: .packaged(.node), offersHTTP2: false, idleSeconds: 5),
            LimitedServer(make: .packaged(.gunicornThreads), offersHTTP2: false, idleSeconds: 2),
        ]
    }

    /// The servers that lost requests, and related ones.
    static let sharpest = [
        LimitedServer(make: .nginx(requests: 5), concurrency: 12),
        LimitedServer(make: .nginx(requests: 5), concurrency: 12, reloads: .milliseconds(500)),
        LimitedServer(make: .nginx(requests: 100)),
        LimitedServer(make: .nginx(requests: 5), offersHTTP2: false),
        LimitedServer(make: .nginx(requests: 5)),
        LimitedServer(make: .nginx(requests: 5), reloads: .milliseconds(500)),
        LimitedServer(make: .nginx(requests: 100, more: withoutLingering)),
        LimitedServer(make: .apache(requests: 100), reloads: .milliseconds(1500)),
    ]

    /// Other servers at their defaults, over HTTP/2.
    static let ordinary = [
        LimitedServer(make: .caddy, concurrency: 50),
        LimitedServer(make: .packaged(.haproxy), concurrency: 50),
        LimitedServer(make: .packaged(.node), concurrency: 50),
        LimitedServer(make: .packaged(.h2o), concurrency: 50),
    ]
}
