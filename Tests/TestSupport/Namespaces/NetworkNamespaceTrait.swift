internal import Foundation
package import Testing

/// Runs each test it stands at, or each test of its suite, in a network of its own, in which nothing is up.
///
///     @Suite(.inNetworkNamespace, .needsNetworkNamespace)
package struct NetworkNamespaceTrait: TestTrait, SuiteTrait, TestScoping {
    package var isRecursive: Bool { true }

    /// The other run is that of the whole test, with all of its arguments.
    package func scopeProvider(for test: Test, testCase: Test.Case?) -> Self? {
        test.isSuite || testCase != nil ? nil : self
    }

    package func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        if NetworkNamespace.isInside { return try await function() }
        let location = test.sourceLocation
        // The names of a test end in the place where it stands, which no other has.
        let place = "\(location.fileName):\(location.line):\(location.column)"
        let pattern = NSRegularExpression.escapedPattern(for: place) + "$"
        let run = try NetworkNamespace.run(testMatching: pattern, within: .seconds(60))
        // No test at all would be another exit, a skipped one is said to be.
        if run.exit != .code(0) || run.output.contains("skipped") || !run.output.contains("with 1 test in") {
            Issue.record("in a network of its own: \(run.exit)\n\(run.output)", sourceLocation: location)
        }
    }
}

extension Trait where Self == NetworkNamespaceTrait {
    /// The test has a network of its own, in which nothing is up.
    package static var inNetworkNamespace: Self { Self() }
}

extension Trait where Self == ConditionTrait {
    /// Skips the test where it can have no network of its own.
    package static var needsNetworkNamespace: Self {
        .enabled(if: NetworkNamespace.isAvailable, "this machine lets us make no network namespace")
    }
}
