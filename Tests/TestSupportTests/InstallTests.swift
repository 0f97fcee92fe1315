import Foundation
import TestSupport
import Testing

/// `scripts/install`, in a home of its own and with an apt that installs nothing.
@Suite struct InstallTests {
    private static let checkout = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    /// A machine on which some packages are missing, of which its release does not have all.
    private struct Machine {
        private let home: TemporaryDirectory

        init(without missing: [String], unpackaged: [String]) throws {
            home = try TemporaryDirectory()
            try program("bin/dpkg-query", Self.failing(for: missing, at: 3) + "echo installed")
            try program("bin/apt-cache", Self.failing(for: unpackaged, at: 2) + "echo Version: 1")
            try program("bin/apt-get", "echo \"$*\" >>\"$HOME/calls\"")
            try program("bin/id", "echo 0")
            // Python's package is there.
            try program(".cache/swift-url-loading/aioquic/bin/python", "exit 0")
        }

        private static func failing(for packages: [String], at place: Int) -> String {
            packages.map { "[ \"$\(place)\" = \($0) ] && exit 1\n" }.joined()
        }

        private func program(_ name: String, _ text: String) throws {
            let file = home.file(name)
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data("#!/bin/sh\n\(text)\n".utf8).write(to: file)
            try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: file.path)
        }

        func install(_ words: String...) throws -> (exit: ChildProcess.Exit, output: String) {
            try ChildProcess.run(
                InstallTests.checkout.appendingPathComponent("scripts/install").path, words,
                environment: ["HOME": home.path, "PATH": home.path + "/bin:/usr/sbin:/usr/bin:/sbin:/bin"])
        }

        /// The arguments of apt.
        var calls: [String] { lines(of: "calls") }
        /// The note of what the release does not have, without the release's name.
        var note: [String] { lines(of: ".cache/swift-url-loading/unpackaged").filter { !$0.hasPrefix("#") } }

        private func lines(of name: String) -> [String] {
            let text = try? String(contentsOf: home.file(name), encoding: .utf8)
            return (text ?? "").split(separator: "\n").map(String.init)
        }
    }

    @Test("what this release does not have is named once, and noted") func unpackaged() throws {
        let machine = try Machine(without: ["dante-server"], unpackaged: ["dante-server"])
        let check = try machine.install("--check", "test")
        #expect(check.exit == .code(1))
        #expect(check.output == "Missing: dante-server\n")
        let first = try machine.install("test")
        #expect(first.exit == .code(0))
        #expect(first.output.hasPrefix("Not in this release, or in an archive that is not enabled: dante-server."))
        #expect(first.output.split(separator: "\n").count == 1)
        #expect(machine.note == ["dante-server"])
        #expect(machine.calls == ["update -qq"])
        for again in try [machine.install("test"), machine.install("--check", "test")] {
            #expect(again.exit == .code(0))
            #expect(again.output.isEmpty)
        }
        #expect(machine.calls == ["update -qq"])
    }

    @Test("without a library that is built with nothing goes on") func needed() throws {
        let machine = try Machine(without: ["libngtcp2-dev"], unpackaged: ["libngtcp2-dev"])
        let end = try machine.install("test")
        #expect(end.exit == .code(1))
        #expect(end.output.hasPrefix("apt knows no package libngtcp2-dev"))
        #expect(machine.note.isEmpty)
    }

    // MARK: What it installs

    private static func packages(_ kind: String) throws -> Set<String> {
        let script = checkout.appendingPathComponent("scripts/install").path
        return Set(try ChildProcess.run(script, ["--list", kind]).output.split(separator: "\n").map(String.init))
    }

    @Test("the README names the packages that a build needs") func readme() throws {
        let text = try String(contentsOf: Self.checkout.appendingPathComponent("README.md"), encoding: .utf8)
        let requirements = try #require(text.components(separatedBy: "\n## Requirements\n").dropFirst().first)
        let block = try #require(requirements.components(separatedBy: "```").dropFirst().first)
        let packages = try Self.packages("build")
        #expect(Set(block.split(whereSeparator: \.isWhitespace).map(String.init)) == packages)
    }

    @Test("every program of the farm is installed") func farm() throws {
        let packages = try Self.packages("test")
        #expect(ServerFarm.Part.allCases.filter { !packages.contains($0.package ?? "") } == [.aioquic])
        #expect(PackagedServer.Make.allCases.flatMap(\.packages).filter { !packages.contains($0) } == [])
        #expect(PackagedServer.Make.lighttpd.packages == ["lighttpd", "lighttpd-mod-openssl"])
    }

    @Test("a server without a module that it needs is not there") func modules() throws {
        let folder = try TemporaryDirectory()
        #expect(!PackagedServer.Make.hasLighttpdModule("mod_openssl", in: [folder.path]))
        try folder.write("", to: "mod_openssl.so")
        #expect(PackagedServer.Make.hasLighttpdModule("mod_openssl", in: ["/nowhere", folder.path]))
    }
}

@Suite struct MissingProgramTests {
    private let missing = ServerFarm.Missing(name: "danted", package: "dante-server")

    @Test("what cannot be installed is skipped wherever it is") func unpackaged() throws {
        try missing.allowSkipping(whereAllIsNeeded: true, unpackaged: ["dante-server"])
        try missing.allowSkipping(whereAllIsNeeded: false, unpackaged: [])
    }

    @Test("what could be installed is not, where all is needed") func packaged() {
        #expect(throws: missing) { try missing.allowSkipping(whereAllIsNeeded: true, unpackaged: ["squid"]) }
        let library = ServerFarm.Missing(name: "Duktape", package: nil)
        #expect(throws: library) { try library.allowSkipping(whereAllIsNeeded: true, unpackaged: ["squid"]) }
    }
}
