import Foundation
import TestSupport
import Testing
import URLLoading

/// Uploads that continue at another origin.
@Suite(.leavesNothing) struct CrossOriginUploadTests {
    private let basicAuth = BasicAuthResponder()

    /// Returns the upload's location after authentication, then closes the connection.
    private func owner(_ location: String) throws -> ScriptedServer {
        let basicAuth = basicAuth
        return try ScriptedServer { connection in
            while let request = try connection.nextRequest() {
                guard request["Authorization"] == basicAuth.field() else {
                    try connection.send(basicAuth.refusal, to: request)
                    continue
                }
                try connection.send(
                    "HTTP/1.1 104 X\r\nUpload-Draft-Interop-Version: 8\r\nLocation: \(location)\r\n\r\n")
                return
            }
        }
    }

    // AUTH-12, RES-16: a credential is sent to its own server only
    @Test("a credential stays with the server that asked for it", arguments: [true, false])
    func aCredentialStaysWithItsServer(isKept: Bool) async throws {
        let otherServer = try ScriptedServer.answering { _ in .text("all").with(field: "Upload-Complete", "?1") }
        defer { otherServer.stop() }
        let owner = try owner(otherServer.url("/uploads/0").absoluteString)
        defer { owner.stop() }
        let delegate = RecordingUploadDelegate()
        let credential = URLCredential(basicAuth.user, basicAuth.password, isKept ? .forSession : .none)
        delegate.challenge = { $1(.useCredential, credential) }
        let session = URLSession(delegate)
        let task = session.uploadTask(with: UploadRun(server: owner).request, from: Data(count: 100))
        task.resume()
        session.finishTasksAndInvalidate()
        #expect(try await delegate.callsUntilInvalid().failure == nil)
        #expect(owner.authorizations == ["/ -", "/ \(basicAuth.field())"])
        #expect(otherServer.authorizations == ["/uploads/0 -"])
    }

    enum Verdict: CaseIterable {
        case agrees
        /// Without one of the fields.
        case agreesInPart
        case refuses
        case isNotAsked
    }

    /// Delegates with and without the redirect method.
    private final class Silent: NSObject, URLSessionTaskDelegate, Sendable {
        let ends = EventRecorder<URLError.Code?>()

        func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
            ends.record((error as? URLError)?.code)
        }
    }

    private static let fields = [
        "Authorization": "Bearer x", "Cookie": "a=b", "Origin": "https://a.example", "X-Own": "1",
    ]

    // RES-14, R-9, R-10: another origin gets a body, and what goes with it, only if the delegate agrees
    @Test("a server that redirects an upload to another origin and stops", arguments: Verdict.allCases)
    func elsewhere(verdict: Verdict) async throws {
        let otherServer = try ScriptedServer.answering { _ in .text("all").with(field: "Upload-Complete", "?1") }
        defer { otherServer.stop() }
        let place = otherServer.url("/uploads/0")
        let owner = try ScriptedServer { connection in
            guard try connection.nextRequest() != nil else { return }
            try connection.send(
                "HTTP/1.1 104 X\r\nUpload-Draft-Interop-Version: 8\r\nLocation: \(place.absoluteString)\r\n\r\n")
        }
        defer { owner.stop() }
        var run = UploadRun(server: owner)
        run.fields = Self.fields
        let proposals = EventRecorder<URLRequest>()
        let failure: URLError.Code?
        if verdict == .isNotAsked {
            let delegate = Silent()
            let session = URLSession(configuration: .ephemeral, delegate: delegate, delegateQueue: nil)
            defer { session.invalidateAndCancel() }
            session.uploadTask(with: run.request, from: Data(count: 100)).resume()
            failure = try await delegate.ends.waitFor(count: 1)[0]
        } else {
            let delegate = RecordingUploadDelegate()
            delegate.redirect = { request, handler in
                proposals.record(request)
                var request = request
                if verdict == .agreesInPart { request.setValue(nil, forHTTPHeaderField: "X-Own") }
                handler(verdict == .refuses ? nil : request)
            }
            failure = try await run.calls(delegate) { $0.uploadTask(with: $1, from: Data(count: 100)) }.failure
        }
        let requests = otherServer.requests.map { request in
            [request.method] + Self.fields.keys.sorted().map { request[$0] ?? "-" }
        }
        switch verdict {
        case .agrees, .agreesInPart:
            #expect(failure == nil)
            #expect(requests == [["HEAD", "-", "-", "-", verdict == .agrees ? "1" : "-"]])
        case .refuses, .isNotAsked:
            #expect(failure == .networkConnectionLost)
            #expect(requests == [])
        }
        #expect(proposals.events.map(\.url) == (verdict == .isNotAsked ? [] : [place]))
        let shown = proposals.events.map { $0.allHTTPHeaderFields?.keys.sorted().filter { Self.fields[$0] != nil } }
        #expect(shown == (verdict == .isNotAsked ? [] : [["X-Own"]]))
    }

    // RES-14: the upload continues unchanged, and the other location is not used
    @Test("a server that names another origin and stays", arguments: [true, false])
    func stays(agrees: Bool) async throws {
        let otherServer = try ScriptedServer.answering { _ in .text("all") }
        defer { otherServer.stop() }
        let place = otherServer.url("/uploads/0").absoluteString
        let owner = try ScriptedServer { connection in
            guard try connection.nextRequest() != nil else { return }
            try connection.send(
                "HTTP/1.1 104 X\r\nUpload-Draft-Interop-Version: 8\r\nLocation: \(place)\r\n\r\n"
                    + "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            try connection.waitForClose()
        }
        defer { owner.stop() }
        let delegate = RecordingUploadDelegate()
        delegate.redirect = { $1(agrees ? $0 : nil) }
        let calls = try await UploadRun(server: owner).calls(delegate) {
            $0.uploadTask(with: $1, from: Data(count: 100))
        }
        #expect(calls.failure == nil)
        #expect(calls.contains(.data(1, "ok")))
        #expect(otherServer.requests.count == 0)
    }

    // RES-16: nor is a request that the upload goes on with led there
    @Test("a server that redirects a resumed upload", arguments: ["HEAD", "PATCH"]) func redirected(method: String)
        async throws
    {
        let otherServer = try ScriptedServer.answering { _ in .text("all").with(field: "Upload-Complete", "?1") }
        defer { otherServer.stop() }
        let place = otherServer.url("/uploads/0").absoluteString
        let owner = try ScriptedServer { connection in
            while let request = try connection.nextRequest() {
                if request.method == "POST" || request.method == "PUT" {
                    return try connection.send(
                        "HTTP/1.1 104 X\r\nUpload-Draft-Interop-Version: 8\r\nLocation: /uploads/0\r\n\r\n")
                }
                if request.method == method {
                    try connection.send("HTTP/1.1 307 X\r\nLocation: \(place)\r\nContent-Length: 0\r\n\r\n")
                } else {
                    try connection.send("HTTP/1.1 204 X\r\nUpload-Offset: 10\r\nUpload-Complete: ?0\r\n\r\n")
                }
            }
        }
        defer { owner.stop() }
        let delegate = RecordingUploadDelegate()
        let calls = try await UploadRun(server: owner).calls(delegate) {
            $0.uploadTask(with: $1, from: Data(count: 100))
        }
        #expect(otherServer.requests.count == 0)
        // The redirect of a HEAD is nothing that the client knows; that of the body is its response.
        #expect(calls.failure == (method == "HEAD" ? .networkConnectionLost : nil))
        #expect(calls.contains(.response(1, 307)) == (method == "PATCH"))
    }
}
