import Foundation
import Glibc
import TestSupport
import Testing

@testable import URLSessionCommandCore

/// Secrets of the command line, which other users see in the list of processes.
@Suite struct ArgumentSecretsTests {
    @Test(arguments: [
        (["-u", "me:pass", "http://a/"], ["-u", "       ", "http://a/"]),
        (["-sume:pass"], ["-su       "]),
        (["--user=me:pass", "--proxy-user", "a:b"], ["--user=       ", "--proxy-user", "   "]),
        (
            ["--oauth2-bearer", "t", "--bearer=t", "--pass", "p"],
            ["--oauth2-bearer", " ", "--bearer= ", "--pass", " "]
        ),
        (["-H", "Authorization: Basic x", "-H", "Accept: a"], ["-H", "Authorization:        ", "-H", "Accept: a"]),
        (["-HCookie:a=b", "-b", "a=b", "-b", "file"], ["-HCookie:   ", "-b", "   ", "-b", "file"]),
        (
            ["https://me:pass@host/a@b", "-x", "http://p:q@proxy:1"],
            ["https://       @host/a@b", "-x", "http://   @proxy:1"]
        ),
        // As the program completes them.
        (["me:pass@host/a@b", "-x", "p:q@proxy:1"], ["       @host/a@b", "-x", "   @proxy:1"]),
        (["example.com/a@b", "me@host:1"], ["example.com/a@b", "  @host:1"]),
        (["--cert", "file:pass", "-o", "me:pass"], ["--cert", "file:    ", "-o", "me:pass"]),
        (["--", "-u", "http://a:b@c"], ["--", "-u", "http://   @c"]),
        (["-u"], ["-u"]),
        (["-A", "-u", "a:b"], ["-A", "-u", "a:b"]),
        (["-H", "X-Api-Key: k", "-H", "X-Any:  bearer abc"], ["-H", "X-Api-Key:  ", "-H", "X-Any:            "]),
        (
            ["-H", "X-Any: basically", "-HReferer: http://u:p@a/"],
            ["-H", "X-Any: basically", "-HReferer:              "]
        ),
        (["-H", "Sec-WebSocket-Protocol: a, b"], ["-H", "Sec-WebSocket-Protocol:     "]),
        (["ws", "--protocol", "abc", "--protocol=abc"], ["ws", "--protocol", "   ", "--protocol=   "]),
        (["-H", "é-Token: é"], ["-H", "é-Token:   "]),
    ])
    func areOverwritten(_ given: [String], _ shown: [String]) {
        let list = UnsafeMutableBufferPointer<UnsafeMutablePointer<CChar>?>.allocate(capacity: given.count)
        for (index, argument) in given.enumerated() { list.initializeElement(at: index, to: strdup(argument)) }
        defer {
            for text in list { free(text) }
            list.deallocate()
        }
        ArgumentSecrets.hide(in: list)
        let result = list.map { $0.map { String(cString: $0) } }
        #expect(result == shown.map { $0.replacing(/é$/, with: "  ") })
    }

    /// Latin-1, for example.
    @Test func areNotUTF8() throws {
        let argument = strdup("-ume:p?ss")
        defer { free(argument) }
        argument?[6] = CChar(bitPattern: 0xE4)
        var list = [argument]
        list.withUnsafeMutableBufferPointer { ArgumentSecrets.hide(in: $0) }
        #expect(argument.map { String(cString: $0) } == "-u       ")
    }

    /// And the program has them all the same.
    @Test func inTheListOfProcesses() async throws {
        let mayAnswer = Signal("the answer")
        let arrived = Signal("the request")
        let harness = try CommandHarness(
            ScriptedServer { connection in
                let request = try connection.readRequest()
                arrived.fire()
                try connection.wait(for: mayAnswer)
                let text = request["Authorization"] ?? "-"
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(text.utf8.count)\r\n\r\n\(text)")
            })
        defer { harness.server.stop() }
        let output = harness.folder.file("output")
        let process = try ChildProcess(
            CommandHarness.executable(), ["-s", "--oauth2-bearer", "very-secret", harness.url("/")], output: output)
        defer { process.end() }
        try await arrived.wait()
        let line = try String(contentsOfFile: "/proc/\(process.processID)/cmdline", encoding: .utf8)
        #expect(line.contains("--oauth2-bearer"))
        #expect(!line.contains("secret"))
        mayAnswer.fire()
        #expect(try process.waitForExit() == .code(0))
        #expect(try String(contentsOf: output, encoding: .utf8) == "Bearer very-secret")
    }
}
