import TestSupport

/// The origin server behind reverse proxies of the matrix, for behaviours that they do not implement.
enum MatrixOrigin {
    /// The announced and actual length of truncated bodies.
    private static let announced = 1_000_000
    private static let begun = [UInt8](repeating: 0, count: 1000)

    static func start(files: [String: [UInt8]]) throws -> ScriptedServer {
        try ScriptedServer { connection in
            do {
                while let request = try connection.nextRequest() {
                    switch request.path {
                    case "/dropped": return
                    case "/broken":
                        return try connection.send(beginning + begun)
                    case "/held":
                        try connection.send(beginning + begun)
                        _ = try connection.waitForClose()
                        return
                    default: try connection.send(response(to: request, files: files), to: request)
                    }
                }
            } catch  where connection.record.end != nil {
                return
            }
        }
    }

    private static var beginning: [UInt8] { Array("HTTP/1.1 200 OK\r\nContent-Length: \(announced)\r\n\r\n".utf8) }

    private static func response(to request: ReceivedRequest, files: [String: [UInt8]]) -> CannedResponse {
        switch request.path {
        case "/count": return .text("\(request.body.count)")
        case "/redirect": return .redirect(to: "/small")
        case "/trailers": return .chunked(["small"], trailers: [.init("X-Checksum", "abc")])
        case "/guarded" where request["Authorization"] != "Basic bWU6c2VjcmV0":
            return .status(401).with(field: "WWW-Authenticate", "Basic realm=\"r\"")
        case let path where path.hasPrefix("/status/"): return .status(Int(path.dropFirst(8)) ?? 500)
        case let path:
            guard let bytes = files[String(path.dropFirst())] else { return .status(404) }
            return .bytes(bytes).with(field: "Content-Type", "application/octet-stream")
        }
    }
}
