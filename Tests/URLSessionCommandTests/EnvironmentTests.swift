import Foundation
import TestSupport
import Testing

/// Environment variables.
@Suite struct EnvironmentTests {
    // PROXY-8
    @Test("http_proxy") func proxy() throws {
        let harness = try CommandHarness(ScriptedServer.answering { .text("for \($0.target)\n") })
        defer { harness.server.stop() }
        let variables = ["http_proxy": "127.0.0.1:\(harness.server.port)", "no_proxy": "", "NO_PROXY": ""]
        let (exit, output) = try harness.run("http://far.test/x", "-s", environment: variables)
        #expect(exit == .code(0))
        #expect(output == "for http://far.test/x\n")
    }

    // ERR-3: the file is not to blame
    @Test("files of certificates, where OpenSSL is missing", arguments: ["--cacert", "--cert"])
    func withoutOpenSSL(option: String) throws {
        let harness = try CommandHarness(ScriptedServer.answering(.text("x")))
        defer { harness.server.stop() }
        // Found before the system's own, and no library.
        for name in ["libssl.so.3", "libssl.so"] { _ = try harness.folder.write("no library", to: name) }
        let file = try harness.folder.write("whatever", to: "a.pem").path
        let (exit, output) = try harness.run(
            harness.server.url().absoluteString, option, file, environment: ["LD_LIBRARY_PATH": harness.folder.path])
        #expect(exit == .code(35))
        #expect(
            output == "urlsession: cannot read certificates in 'FOLDER/a.pem' (FOLDER/libssl.so.3: file too short): "
                + "install that library\n")
    }
}
