import Foundation
import TestSupport
import Testing
import URLLoading

/// Uploads that a server has go on at another server.
@Suite(.leavesNothing) struct UploadElsewhereTests {
    private let door = BasicGuard()

    /// Tells where the upload goes on, once it is told who the user is, and loses the connection then.
    private func owner(_ location: String) throws -> ScriptedServer {
        let door = door
        return try ScriptedServer { connection in
            while let request = try connection.nextRequest() {
                guard request["Authorization"] == door.field() else {
                    try connection.send(door.refusal, to: request)
                    continue
                }
                try connection.send(
                    "HTTP/1.1 104 X\r\nUpload-Draft-Interop-Version: 8\r\nLocation: \(location)\r\n\r\n")
                return
            }
        }
    }

    // AUTH-12, RES-16: what one server was told no other is
    @Test("a credential stays with the server that asked for it", arguments: [true, false])
    func aCredentialStaysWithItsServer(isKept: Bool) async throws {
        let stranger = try ScriptedServer.answering { _ in .text("all").with(field: "Upload-Complete", "?1") }
        defer { stranger.stop() }
        let owner = try owner(stranger.url("/uploads/0").absoluteString)
        defer { owner.stop() }
        let delegate = RecordingUploadDelegate()
        let credential = URLCredential(door.user, door.password, isKept ? .forSession : .none)
        delegate.challenge = { $1(.useCredential, credential) }
        let session = URLSession(delegate)
        let task = session.uploadTask(with: UploadRun(server: owner).request, from: Data(count: 100))
        task.resume()
        session.finishTasksAndInvalidate()
        #expect(try await delegate.callsUntilInvalid().failure == nil)
        #expect(owner.authorizations == ["/ -", "/ \(door.field())"])
        #expect(stranger.authorizations == ["/uploads/0 -"])
    }
}
