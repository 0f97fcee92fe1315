import Foundation
import TestSupport
import Testing
import URLSessionCommandCore

/// `-k`, against a server with an untrusted certificate.
@Suite struct InsecureTests {
    @Test func anyCertificateWillDo() throws {
        let server = try ScriptedServer.answering(
            .text("hello"), tls: TLSServerOptions(TestIdentity.selfSigned(.localhost)))
        defer { server.stop() }
        let folder = try TemporaryDirectory()
        func run(_ arguments: String...) -> ExitCode {
            Command.run(
                arguments: [server.url().absoluteString, "-s", "-o", folder.file("body").path] + arguments,
                terminal: Terminal())
        }
        #expect(run() == .serverCertificate)
        #expect(run("-k") == .success)
        #expect(try String(contentsOf: folder.file("body"), encoding: .utf8) == "hello")
    }
}
