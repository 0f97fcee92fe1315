package import Foundation

/// A server with resumable uploads (draft-ietf-httpbis-resumable-upload, interop version 8).
///
///     let server = try ResumableUploadServer(cuts: [100_000, 50_000])
///     … PUT server.url() …
///     server.uploads == [.init(bytes: …, isComplete: true)]
///
/// Validates requests against the draft and records violations in `faults`.
package final class ResumableUploadServer: Sendable {
    package struct Upload: Sendable, Equatable {
        package var bytes = Data()
        package var length: Int64?
        package var isComplete = false
    }

    package struct Options: Sendable {
        /// The number of body bytes after which the connection of the first, second … request with a body is reset.
        package var cuts: [Int] = []
        /// Whether the server supports resumption.
        package var offers = true
        /// The advertised interop version.
        package var version = 8
        /// The value of `Upload-Limit`.
        package var limit: String?
        /// The maximum body size per request, whatever is advertised.
        package var mostOfRequest: Int?
        /// A number of offset requests are answered with this status; 401 with a challenge for Basic.
        package var refusals: [Int] = []
        /// The number of times that the upload is lost.
        package var losses = 0
        /// Whether the first request is redirected.
        package var redirects = false
        /// The number of body bytes of the first request after which the server stalls until the client closes.
        package var stall: Int?
        /// The number of bytes between 104 responses with the offset.
        package var progress: Int?

        package init(cuts: [Int] = []) { self.cuts = cuts }
    }

    /// Fired when the first request has stalled.
    package let hasStalled = Signal("a stalled request")

    private struct State {
        var uploads: [Upload] = []
        var requests: [String] = []
        var faults: [String] = []
        var cuts: [Int]
        var refusals: [Int]
        var losses: Int
    }

    private let options: Options
    private let state: Watched<State>
    private let server: ScriptedServer

    package init(_ options: Options = Options(), tls: TLSServerOptions? = nil) throws {
        let state = Watched(State(cuts: options.cuts, refusals: options.refusals, losses: options.losses))
        self.options = options
        self.state = state
        server = try ScriptedServer(tls: tls) { [hasStalled] connection in
            do {
                while try connection.hasMore() {
                    let exchange = Exchange(connection, options, state, hasStalled)
                    guard try exchange.run() else { return connection.reset() }
                }
            } catch  where connection.record.end != nil {
                return
            }
        }
    }

    package convenience init(cuts: [Int]) throws { try self.init(Options(cuts: cuts)) }

    package func stop() { server.stop() }

    package func url(_ path: String = "/") -> URL { server.url(path) }

    package var uploads: [Upload] { state.current.uploads }
    /// Methods and targets, with the offset of bodies.
    package var requests: [String] { state.current.requests }
    package var faults: [String] { state.current.faults }
    package var scripted: ScriptedServer { server }

    /// One request and its answer.
    private struct Exchange {
        let connection: ServerConnection
        let options: Options
        let state: Watched<State>
        let hasStalled: Signal

        init(_ connection: ServerConnection, _ options: Options, _ state: Watched<State>, _ hasStalled: Signal) {
            self.connection = connection
            self.options = options
            self.state = state
            self.hasStalled = hasStalled
        }

        /// False if the connection must be reset.
        func run() throws -> Bool {
            let head = try connection.readRequestHead()
            let offset = head["Upload-Offset"].flatMap { Int($0) }
            let place = offset.map { " from \($0)" } ?? ""
            state.withValue { $0.requests.append("\(head.method) \(head.path)\(place)") }
            if let index = number(head.path) {
                switch head.method {
                case "HEAD": return try sendOffset(index)
                case "PATCH": return try append(head, to: index, at: offset)
                default: return try answer(405, ["Content-Length: 0"])
                }
            }
            if options.redirects, head.path != "/moved" {
                _ = try connection.readBody(of: head)
                return try answer(307, ["Location: /moved", "Content-Length: 0"])
            }
            return try create(head)
        }

        private func number(_ path: String) -> Int? {
            path.hasPrefix("/uploads/") ? Int(path.dropFirst("/uploads/".count)) : nil
        }

        private func fault(_ text: String) { state.withValue { $0.faults.append(text) } }

        private var limit: [String] { options.limit.map { ["Upload-Limit: \($0)"] } ?? [] }

        private func answer(_ status: Int, _ fields: [String], _ text: String = "") throws -> Bool {
            try connection.send(
                "HTTP/1.1 \(status) X\r\n" + fields.map { $0 + "\r\n" }.joined() + "\r\n" + text)
            return true
        }

        private func create(_ head: ReceivedRequest) throws -> Bool {
            if head["Upload-Draft-Interop-Version"] != "8" { fault("no version") }
            if head["Upload-Complete"] != "?1" { fault("not complete at once") }
            let length = head["Upload-Length"].flatMap { Int64($0) }
            let index = state.withValue { state in
                state.uploads.append(Upload(length: length))
                return state.uploads.count - 1
            }
            if options.offers {
                let fields =
                    ["Upload-Draft-Interop-Version: \(options.version)", "Location: /uploads/\(index)"] + limit
                _ = try answer(104, fields)
            }
            guard try take(head, index) else { return false }
            return try finish(index, isLast: true)
        }

        private func sendOffset(_ index: Int) throws -> Bool {
            let (upload, refusal, isLost) = state.withValue { state in
                let refusal = state.refusals.isEmpty ? nil : state.refusals.removeFirst()
                let isLost = state.losses > 0
                if isLost { state.losses -= 1 }
                return (state.uploads.indices.contains(index) ? state.uploads[index] : nil, refusal, isLost)
            }
            if let refusal {
                return try answer(refusal, refusal == 401 ? ["WWW-Authenticate: Basic realm=\"x\""] : [])
            }
            guard let upload, !isLost else { return try answer(404, []) }
            return try answer(
                204,
                [
                    "Upload-Offset: \(upload.bytes.count)", "Upload-Complete: \(upload.isComplete ? "?1" : "?0")",
                    "Cache-Control: no-store",
                ] + limit)
        }

        private func append(_ head: ReceivedRequest, to index: Int, at offset: Int?) throws -> Bool {
            if head["Content-Type"] != "application/partial-upload" { fault("the type of an append") }
            if head["Upload-Draft-Interop-Version"] != "8" { fault("no version with an append") }
            let known = state.current.uploads[index].bytes.count
            guard offset == known else {
                _ = try connection.readBody(of: head)
                return try answer(409, ["Upload-Offset: \(known)", "Content-Length: 0"])
            }
            guard try take(head, index) else { return false }
            return try finish(index, isLast: head["Upload-Complete"] == "?1")
        }

        private func finish(_ index: Int, isLast: Bool) throws -> Bool {
            let upload = state.withValue { state in
                state.uploads[index].isComplete = isLast
                return state.uploads[index]
            }
            guard isLast else {
                return try answer(201, ["Upload-Complete: ?0", "Content-Length: 0"] + limit)
            }
            if let length = upload.length, length != upload.bytes.count { fault("another length") }
            let text = "\(upload.bytes.count)"
            return try answer(200, ["Upload-Complete: ?1", "Content-Length: \(text.utf8.count)"], text)
        }

        /// Stores a body as it arrives; false if the connection must be reset.
        private func take(_ head: ReceivedRequest, _ index: Int) throws -> Bool {
            var left = state.withValue { $0.cuts.isEmpty ? Int.max : $0.cuts.removeFirst() }
            if left == 0 { return false }
            let stalls = options.stall != nil && !hasStalled.isFired
            if let stall = options.stall, stalls { left = stall }
            func stop() throws -> Bool {
                guard stalls else { return false }
                hasStalled.fire()
                try connection.waitForClose()
                return false
            }
            var count = 0
            func take(_ size: Int) throws -> Bool {
                var size = size
                while size > 0 {
                    let bytes = try connection.receive(exactly: min(size, left, 16_384))
                    size -= bytes.count
                    left -= bytes.count
                    count += bytes.count
                    let total = state.withValue { state in
                        state.uploads[index].bytes.append(contentsOf: bytes)
                        return state.uploads[index].bytes.count
                    }
                    if let progress = options.progress, count / progress != (count - bytes.count) / progress {
                        _ = try answer(104, ["Upload-Draft-Interop-Version: 8", "Upload-Offset: \(total)"])
                    }
                    if left == 0 { return try stop() }
                }
                return true
            }
            if head["Transfer-Encoding"] == "chunked" {
                while true {
                    let line = String(decoding: try connection.receive(through: "\r\n").dropLast(2), as: UTF8.self)
                    guard let size = Int(line, radix: 16), try take(size) else { return false }
                    _ = try connection.receive(exactly: 2)
                    if size == 0 { break }
                }
            } else {
                guard try take(head["Content-Length"].flatMap { Int($0) } ?? 0) else { return false }
            }
            if let most = options.mostOfRequest, count > most { fault("\(count) bytes in a request") }
            return true
        }
    }
}
