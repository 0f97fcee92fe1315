package import Testing

/// Checks a test, or each test of a suite, with `LeakCheck`.
package struct LeakCheckedTrait: TestTrait, SuiteTrait, TestScoping {
    package var isRecursive: Bool { true }

    package func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        try await LeakCheck.check(sourceLocation: test.sourceLocation) { try await function() }
    }
}

extension Trait where Self == LeakCheckedTrait {
    /// The test must leave no descriptors, threads or counted objects behind.
    package static var leakChecked: Self { Self() }
}
