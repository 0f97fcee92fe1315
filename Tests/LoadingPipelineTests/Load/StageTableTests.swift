import Foundation
import Testing

@testable import LoadingPipeline

/// The table of stages in ARCHITECTURE.md is that of the code.
@Suite struct StageTableTests {
    @Test("the page lists the stages in their order") func table() throws {
        var root = URL(fileURLWithPath: #filePath)
        for _ in 0..<4 { root.deleteLastPathComponent() }
        let page = try String(contentsOf: root.appendingPathComponent("ARCHITECTURE.md"), encoding: .utf8)
        let section = try #require(page.components(separatedBy: "### Stages of a load\n").last)
        let rows = section.prefix(while: { $0 != "#" }).split(separator: "\n").filter { $0.hasPrefix("| `") }
        let names = rows.compactMap { $0.split(separator: "`").dropFirst().first.map(String.init) }
        #expect(names == LoadMachine.Stage.allCases.map { "\($0)" })
    }
}
