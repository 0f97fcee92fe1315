import Foundation
import Glibc
import TestSupport
import Testing
import URLLoading

/// qlog files of connections.
@Suite("qlog", .needsHTTP3, .needs(.gtlsserver), .serialized) struct QlogTests {
    /// The files that appear in a folder while something is loaded, once they are whole.
    private func load(into folder: String) async throws {
        setenv("QLOGDIR", folder, 1)
        defer { unsetenv("QLOGDIR") }
        let server = try GtlsServer(
            files: ["big": .pattern(count: 1_000_000)], authority: TrustedAuthority.authority)
        defer { server.stop() }
        let session = URLSession(configuration: .ephemeral)
        defer { session.invalidateAndCancel() }
        var request = URLRequest(url: try #require(URL(string: "https://localhost:\(server.port)/big")))
        request.assumesHTTP3Capable = true
        request.setValue("a-secret-of-the-caller", forHTTPHeaderField: "Cookie")
        #expect(try await session.data(for: request).0.count == 1_000_000)
    }

    // Done when of HTTP/3: qlog by an environment variable
    @Test("each connection logs its packets to its own file, without contents") func packets() async throws {
        let folder = try TemporaryDirectory()
        try await load(into: folder.path)
        // Others may write there meanwhile, and a connection to another address of the host too.
        let names = { @Sendable in try FileManager.default.contentsOfDirectory(atPath: folder.path) }
        let texts = { @Sendable in
            try names().filter { $0.hasSuffix("-localhost.sqlog") }.compactMap {
                FileManager.default.contents(atPath: folder.file($0).path)
            }
        }
        try await eventually {
            (try? texts().contains { String(decoding: $0, as: UTF8.self).contains("packet_received") }) == true
        }
        for name in try names() {
            let attributes = try FileManager.default.attributesOfItem(atPath: folder.file(name).path)
            #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)
        }
        for text in try texts() {
            #expect(text.first == 0x1E)
            #expect(text.range(of: Data("a-secret-of-the-caller".utf8)) == nil)
            // The last may be on its way to the disk.
            for record in text.split(separator: 0x1E).dropLast() {
                #expect(throws: Never.self) { try JSONSerialization.jsonObject(with: record) }
            }
        }
    }

    @Test(
        "where no file can be made the load is as ever", arguments: ["/proc/no-such-folder", "/dev/null", "/proc"])
    func nowhere(folder: String) async throws {
        try await load(into: folder)
    }
}
