import Foundation
import TestSupport
import Testing
import URLLoading

/// Why a property does nothing, in the words that its comment has to have.
enum NoEffect: String {
    case onLinux = "No effect on Linux"
    /// Until a later part of the library is there.
    case yet = "No effect yet"

    /// Expects that a property does nothing, and that this is written down: a load with it and one without are the same
    /// on the wire and to the caller.
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

    /// Expects that nothing says of a property that it does nothing.
    static func expectNone(
        of property: String, _ declared: DeclaredProperties, location: SourceLocation = #_sourceLocation
    ) {
        let comment = declared.comments[property] ?? ""
        #expect(!comment.isEmpty && !comment.contains("No effect"), sourceLocation: location)
    }
}
