import Foundation
import TestSupport
import Testing
import URLLoading

/// Delegates that provide a body stream late, and connections for other requests meanwhile.
@Suite(.leavesNothing, .timeLimit(.minutes(1))) struct DelayedBodyStreamTests {
    private typealias FrameType = HTTP2ServerConnection.FrameType

    /// Keeps the completion handlers.
    private struct HeldBody {
        let delegate = RecordingUploadDelegate()
        let isAsked = Signal("the question for a body")
        private let answers = Watched<[@Sendable (InputStream?) -> Void]>([])

        init() {
            delegate.stream = { [answers, isAsked] _, answer in
                answers.withValue { $0.append(answer) }
                isAsked.fire()
            }
        }

        func give() { for answer in answers.current { answer(InputStream(data: Data("body".utf8))) } }
    }

    /// Answers each request over HTTP/2 with the length of its body.
    ///
    /// - Parameter isForOne: Whether a connection accepts only one request.
    private func server(isForOne: Bool) throws -> ScriptedServer {
        let tls = try TrustedAuthority.server().with { $0.applicationProtocols = ["h2"] }
        return try ScriptedServer(tls: tls) { connection in
            do {
                let http2 = try HTTP2ServerConnection(connection)
                while true {
                    let head = try http2.readFrame(FrameType.headers)
                    if isForOne { try http2.goAway(lastStream: head.stream) }
                    var (length, isWhole) = (0, head.flags & 1 != 0)
                    while !isWhole {
                        let frame = try http2.readFrame(FrameType.data)
                        length += frame.payload.count
                        isWhole = frame.flags & 1 != 0
                    }
                    try http2.respond(on: head.stream, body: "\(length)")
                }
            } catch  where connection.record.end != nil {
                return
            }
        }
    }

    private func session(_ held: HeldBody, mostConnections: Int = 6) -> URLSession {
        URLSession(held.delegate) {
            $0.urlCache = nil
            $0.httpMaximumConnectionsPerHost = mostConnections
            $0.timeoutIntervalForResource = 20
        }
    }

    private func text(_ session: URLSession, _ request: URLRequest) async throws -> String {
        String(decoding: try await session.data(for: request).0, as: UTF8.self)
    }

    private func startUpload(_ session: URLSession, _ request: URLRequest) -> URLSessionUploadTask {
        let task = session.uploadTask(
            withStreamedRequest: request.with {
                $0.httpMethod = "PUT"
                $0.setValue("4", forHTTPHeaderField: "Content-Length")
            })
        task.resume()
        return task
    }

    private func end(_ session: URLSession, _ task: URLSessionTask, _ held: HeldBody) async throws -> [Call] {
        session.finishTasksAndInvalidate()
        let identifier = task.taskIdentifier
        return try await held.delegate.callsUntilInvalid().filter {
            switch $0 {
            case .data(identifier, _), .completed(identifier, _), .needsStream(identifier, _): true
            default: false
            }
        }
    }

    // CONN-3, S-50: a place on a connection that others share is theirs while nothing is sent
    @Test("no place on a shared connection is kept for a body that is not there") func sharedPlace() async throws {
        let server = try server(isForOne: true)
        defer { server.stop() }
        let held = HeldBody()
        let session = session(held)
        let request = URLRequest(url: server.url("/", host: "localhost"))
        // From now on a connection is expected to take one.
        #expect(try await text(session, request) == "0")
        let task = startUpload(session, request)
        try await held.isAsked.wait()
        #expect(try await text(session, request) == "0")
        held.give()
        let identifier = task.taskIdentifier
        #expect(
            try await end(session, task, held) == [
                .needsStream(identifier, 0), .data(identifier, "4"), .completed(identifier, nil),
            ])
        #expect(server.connectionCount == 3)
    }

    // MET-8: the request went out on the connection that was made for it
    @Test("the same connection again is no other one") func sameConnection() async throws {
        let server = try server(isForOne: false)
        defer { server.stop() }
        let held = HeldBody()
        let session = session(held)
        let task = startUpload(session, URLRequest(url: server.url("/", host: "localhost")))
        try await held.isAsked.wait()
        held.give()
        let identifier = task.taskIdentifier
        #expect(
            try await end(session, task, held) == [
                .needsStream(identifier, 0), .data(identifier, "4"), .completed(identifier, nil),
            ])
        let transactions = held.delegate.metrics.events.flatMap(\.transactionMetrics)
        #expect(transactions.map(\.isReusedConnection) == [false])
        #expect(transactions.map { $0.connectEndDate != nil } == [true])
        #expect(server.connectionCount == 1)
    }

    // CONN-1, S-50: the delegate may want another load of the same server before it answers
    @Test("the only connection to a host is not kept for a body that is not there") func onlyConnection() async throws {
        let server = try ScriptedServer.weighing()
        defer { server.stop() }
        let held = HeldBody()
        let session = session(held, mostConnections: 1)
        let request = URLRequest(url: server.url("/"))
        let task = startUpload(session, request)
        try await held.isAsked.wait()
        #expect(try await text(session, request) == "GET 0:0")
        held.give()
        let identifier = task.taskIdentifier
        #expect(
            try await end(session, task, held) == [
                .needsStream(identifier, 0), .data(identifier, "PUT \("body".utf8.weight)"),
                .completed(identifier, nil),
            ])
        #expect(server.connectionCount == 1)
    }

    // CONN-18: no request goes over a connection from before a flush
    @Test("a flush while the delegate is asked for the body") func flushed() async throws {
        let server = try ScriptedServer.weighing()
        defer { server.stop() }
        let held = HeldBody()
        let session = session(held)
        let task = startUpload(session, URLRequest(url: server.url("/")))
        try await held.isAsked.wait()
        await session.flush()
        held.give()
        let identifier = task.taskIdentifier
        #expect(
            try await end(session, task, held) == [
                .needsStream(identifier, 0), .data(identifier, "PUT \("body".utf8.weight)"),
                .completed(identifier, nil),
            ])
        #expect(server.connectionCount == 2)
    }
}
