import Foundation
import Testing

/// The properties of a public type, parsed from its source, so that a table of them is complete.
struct DeclaredProperties {
    /// By name.
    let comments: [String: String]

    var names: Set<String> { Set(comments.keys) }

    /// - Parameters:
    ///   - type: The type, with extensions in other files.
    ///   - folder: The folder in the module.
    ///   - keyword: The declaration keyword, such as `open var`.
    init(of type: String, in folder: String, declaredAs keyword: String) throws {
        let directory = Self.root.appending(path: "Sources/URLLoading/\(folder)")
        let files = try FileManager.default.contentsOfDirectory(atPath: directory.path)
            .filter { $0 == "\(type).swift" || $0.hasPrefix("\(type)+") }
        var comments: [String: String] = [:]
        for file in files {
            let source = try String(contentsOf: directory.appending(path: file), encoding: .utf8)
            var comment: [Substring] = []
            for line in source.split(separator: "\n", omittingEmptySubsequences: false) {
                let text = line.drop { $0 == " " }
                if text.hasPrefix("///") {
                    comment.append(text.dropFirst(3).drop { $0 == " " })
                } else if text.hasPrefix(keyword + " ") {
                    let name = text.dropFirst(keyword.count + 1).prefix { $0.isLetter || $0.isNumber || $0 == "_" }
                    comments[String(name)] = comment.joined(separator: " ")
                    comment = []
                } else if !text.hasPrefix("@") {
                    comment = []
                }
            }
        }
        self.comments = comments
    }

    /// Runs the test of a property's effect; nil if it has none, which its comment must state.
    func prove(
        _ property: String, by proof: (() async throws -> Void)?, orNothing nothing: () async throws -> Void,
        location: SourceLocation = #_sourceLocation
    ) async throws {
        guard let proof else { return try await nothing() }
        try await proof()
        NoEffect.expectNone(of: property, self, location: location)
    }

    /// The contents of KNOWN-DIFFERENCES.md.
    static var knownDifferences: String {
        get throws { try String(contentsOf: root.appending(path: "KNOWN-DIFFERENCES.md"), encoding: .utf8) }
    }

    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()
}
