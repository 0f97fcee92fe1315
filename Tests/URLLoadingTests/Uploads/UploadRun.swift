import Foundation
import TestSupport
import Testing
import URLLoading

/// One upload in its own session, and its callbacks.
struct UploadRun {
    var server: ScriptedServer
    var path = "/"
    var method = "PUT"
    var fields: [String: String] = [:]
    /// The body of the request, which an upload ignores.
    var ownBody: Data?
    var queue: OperationQueue?
    var configure: (URLSessionConfiguration) -> Void = { _ in }

    var request: URLRequest {
        URLRequest(url: server.url(path)).with {
            $0.httpMethod = method
            $0.httpBody = ownBody
            for (name, value) in fields { $0.setValue(value, forHTTPHeaderField: name) }
        }
    }

    func calls(
        _ delegate: RecordingDelegate, within deadline: Duration = .seconds(30),
        _ task: (URLSession, URLRequest) -> URLSessionUploadTask
    ) async throws -> [Call] {
        delegate.queue = queue
        let session = URLSession(delegate, queue: queue, configure)
        let task = task(session, request)
        task.resume()
        session.finishTasksAndInvalidate()
        let calls = try await delegate.callsUntilInvalid(within: deadline)
        #expect(delegate.faults.events == [])
        #expect(task.state == .completed)
        #expect(task.error?.urlErrorCode == calls.failure)
        return calls
    }
}

extension [Call] {
    /// The error of the task.
    var failure: URLError.Code? {
        for call in self { if case .completed(_, let code) = call { return code } }
        return nil
    }

    /// The callbacks without progress, which depends on the kernel.
    var withoutSent: [Call] { filter { if case .sent = $0 { false } else { true } } }
}

extension ScriptedServer {
    /// Responds with the method, and the length and checksum of the body.
    static func weighing(tls: TLSServerOptions? = nil) throws -> ScriptedServer {
        try .answering(tls: tls) { .text("\($0.method) \($0.body.weight)") }
    }
}

extension Sequence<UInt8> {
    /// The length, and a checksum that depends on the order of bytes.
    var weight: String {
        var count = 0
        var sum: UInt64 = 0
        for byte in self {
            count += 1
            sum = (sum &* 31) &+ UInt64(byte)
        }
        return "\(count):\(sum)"
    }
}
