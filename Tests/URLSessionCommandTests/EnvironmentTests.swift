import TestSupport
import Testing

/// What the program makes of the variables of its environment.
@Suite struct EnvironmentTests {
    // PROXY-8
    @Test("http_proxy") func proxy() throws {
        let scene = try CommandScene(ScriptedServer.answering { .text("for \($0.target)\n") })
        defer { scene.server.stop() }
        let variables = ["http_proxy": "127.0.0.1:\(scene.server.port)", "no_proxy": "", "NO_PROXY": ""]
        let (exit, said) = try scene.run("http://far.test/x", "-s", environment: variables)
        #expect(exit == .code(0))
        #expect(said == "for http://far.test/x\n")
    }
}
