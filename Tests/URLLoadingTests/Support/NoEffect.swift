import Foundation
import TestSupport
import Testing
import URLLoading

/// Why a property has no effect. The raw value must be in its comment.
enum NoEffect: String {
    case onLinux = "No effect on Linux"
    /// For background sessions.
    case inOtherSessions = "No effect in other sessions"

    /// Expects that a property has no effect, and that this is documented: loads with and without it are equal on the
    /// wire and in their callbacks.
    func expect(
        of property: String, _ declared: DeclaredProperties, location: SourceLocation = #_sourceLocation,
        configure: (URLSessionConfiguration) -> Void = { _ in }, change: (inout URLRequest) -> Void = { _ in }
    ) async throws {
        let server = try ScriptedServer.answering { .text($0.summary) }
        defer { server.stop() }
        let plain = URLRequest(url: server.url("/path"))
        let without = try await LoadRecorder.load(plain)
        let with = try await LoadRecorder.load(plain.with(change), configuring: configure)
        #expect(with == without, sourceLocation: location)
        #expect(with.last == .invalid && with.dropLast().last == .succeeded, sourceLocation: location)
        #expect(server.connectionCount == 2, sourceLocation: location)
        #expect(server.requests.count == 2, sourceLocation: location)
        #expect(Set(server.requests.map(\.raw)).count == 1, sourceLocation: location)
        #expect(declared.comments[property]?.contains(rawValue) == true, sourceLocation: location)
        #expect(try DeclaredProperties.knownDifferences.contains("`\(property)`"), sourceLocation: location)
    }

    /// Expects that the comment of a property does not claim that it has no effect.
    static func expectNone(
        of property: String, _ declared: DeclaredProperties, location: SourceLocation = #_sourceLocation
    ) {
        let comment = declared.comments[property] ?? ""
        #expect(!comment.isEmpty && !comment.contains("No effect"), sourceLocation: location)
    }
}
