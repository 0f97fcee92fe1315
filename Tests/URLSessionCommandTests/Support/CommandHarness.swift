import Foundation
import TestSupport

/// Runs the program in its own process, with a folder for its files. In its output the folder's path is replaced by
/// `FOLDER`, and the server's URL by `SERVER`.
struct CommandHarness {
    let folder: TemporaryDirectory
    let server: ScriptedServer

    init(_ server: ScriptedServer) throws {
        folder = try TemporaryDirectory()
        self.server = server
    }

    var target: URL { folder.file("a") }
    /// The folder of a partial download.
    var kept: URL { folder.file("a.download") }

    /// The program is in the folder of the test executable.
    static func executable() throws -> String {
        let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        return URL(fileURLWithPath: tests).deletingLastPathComponent().appendingPathComponent("urlsession").path
    }

    func run(
        _ arguments: String..., environment: [String: String] = [:]
    ) throws -> (exit: ChildProcess.Exit, output: String) {
        let (exit, output) = try ChildProcess.run(Self.executable(), arguments, environment: environment)
        return (exit, normalized(output))
    }

    func download(_ arguments: String...) throws -> (exit: ChildProcess.Exit, output: String) {
        let (exit, output) = try ChildProcess.run(
            Self.executable(), ["download", server.url("/file").absoluteString, target.path] + arguments)
        return (exit, normalized(output))
    }

    /// Starts a download, and ends it with a signal when it can be resumed from a number of bytes.
    func stopDownload(at count: Int, by signal: Int32, _ arguments: String...) async throws -> (
        exit: ChildProcess.Exit, output: String
    ) {
        let output = folder.file("output")
        defer { try? FileManager.default.removeItem(at: output) }
        let process = try ChildProcess(
            Self.executable(), ["download", server.url("/file").absoluteString, target.path] + arguments,
            output: output)
        defer { process.end() }
        try await waitUntilKept(count)
        process.send(signal)
        let exit = try process.waitForExit()
        return (exit, normalized(try String(contentsOf: output, encoding: .utf8)))
    }

    func waitUntilKept(_ count: Int) async throws {
        let kept = kept
        try await eventually {
            let names = (try? FileManager.default.contentsOfDirectory(atPath: kept.path)) ?? []
            guard names.contains("record"), let name = names.first(where: { $0.hasPrefix("CFNetworkDownload_") }) else {
                return false
            }
            let attributes = try? FileManager.default.attributesOfItem(atPath: kept.appendingPathComponent(name).path)
            return attributes?[.size] as? Int == count
        }
    }

    /// What is in the folder.
    func names() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() }

    func contents() throws -> [UInt8] { try Array(Data(contentsOf: target)) }

    private func normalized(_ text: String) -> String {
        let server = server.url("/").absoluteString.dropLast()
        return text.replacingOccurrences(of: folder.path, with: "FOLDER")
            .replacingOccurrences(of: server, with: "SERVER")
            .replacingOccurrences(of: server.dropFirst("http://".count), with: "PLACE")
    }
}
