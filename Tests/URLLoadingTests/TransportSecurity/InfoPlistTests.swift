import Foundation
import TestSupport
import Testing

/// The executable of the client, which is built to where the tests are.
private let client: URL? = {
    let tests = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
    let candidates = [tests.path, CommandLine.arguments.first ?? ""].map {
        URL(fileURLWithPath: $0).deletingLastPathComponent().appendingPathComponent("urlsession")
    }
    return candidates.first { FileManager.default.isExecutableFile(atPath: $0.path) }
}()

/// The settings of an `Info.plist` beside the command-line client.
@Suite(.enabled(if: client != nil, "the client has not been built")) struct InfoPlistTests {
    // TLS-1, TLS-3
    @Test(
        "the key in Info.plist",
        arguments: [
            (nil, true), ("", true), ("<key>NSAppTransportSecurity</key><dict/>", false),
            ("<key>NSAppTransportSecurity</key><string>?</string>", false),
            ("<key>NSAppTransportSecurity</key><dict><key>NSAllowsLocalNetworking</key><true/></dict>", true),
        ] as [(String?, Bool)])
    func theKeyInInfoPlist(settings: String?, isLoaded: Bool) throws {
        let server = try ScriptedServer.answering(.text("hello"))
        defer { server.stop() }
        let directory = try TemporaryDirectory()
        let copy = directory.file("urlsession")
        try FileManager.default.copyItem(at: try #require(client), to: copy)
        if let settings {
            try directory.write(
                #"<?xml version="1.0" encoding="UTF-8"?><plist version="1.0"><dict>\#(settings)</dict></plist>"#,
                to: "Info.plist")
        }
        let result = try ChildProcess.run(copy.path, [server.url().absoluteString])
        #expect((result.exit == .code(0)) == isLoaded, "\(result.output)")
        #expect(server.requests.count == (isLoaded ? 1 : 0))
    }
}
