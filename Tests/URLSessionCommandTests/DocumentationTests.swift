import Foundation
import Testing
import URLSessionCommandCore

/// The documentation of the program.
@Suite struct DocumentationTests {
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    private func document(_ name: String = "docs/urlsession.md") throws -> String {
        try String(contentsOf: Self.root.appendingPathComponent(name), encoding: .utf8)
    }

    @Test func everySwitchIsDescribed() throws {
        let document = try document()
        let missing = CommandSwitches.all.filter { name in
            !document.contains("`\(name)`") && !document.contains("`\(name) ")
        }
        #expect(missing == [])
        for command in ["download", "upload", "ws", "connect", "background", "demo"] {
            #expect(document.contains("`urlsession \(command)"))
        }
    }

    @Test func everyExitCodeIsDescribed() throws {
        let document = try document()
        #expect(ExitCode.allCases.map(\.rawValue).filter { !document.contains("\n| \($0) |") } == [])
    }

    /// Rows that are shown as text, since no head stands above them.
    private func strayRows(_ text: String) -> [String] {
        var isCode = false
        var table: [Substring] = []
        var stray: [String] = []
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) + ["" as Substring] {
            if line.drop(while: { $0 == " " }).hasPrefix("```") { isCode.toggle() }
            if !isCode, line.hasPrefix("|") {
                table.append(line)
                continue
            }
            // The second line divides the head from the rows.
            if !table.isEmpty, table.count < 2 || table[1].contains(where: { !"|-: ".contains($0) }) {
                stray += table.map(String.init)
            }
            table = []
        }
        return stray
    }

    @Test func everyRowIsInATable() throws {
        #expect(strayRows("| a | b |\n|---|---|\n| c | d |\n\ntext\n\n| e | f |\n\n```\n| g |\n```") == ["| e | f |"])
        let folders = try ["", "docs", "docs/decisions"].flatMap { folder in
            try FileManager.default.contentsOfDirectory(atPath: Self.root.appendingPathComponent(folder).path)
                .filter { $0.hasSuffix(".md") }.map { folder.isEmpty ? $0 : "\(folder)/\($0)" }
        }
        #expect(folders.count > 5)
        for name in folders { #expect(strayRows(try document(name)) == [], "\(name)") }
    }
}
