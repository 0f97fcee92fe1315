internal import Foundation
package import Testing

/// Runs a test, or each test of a suite, in its own network namespace, in which no interface is up.
///
///     @Suite(.inNetworkNamespace, .needsNetworkNamespace)
package struct NetworkNamespaceTrait: TestTrait, SuiteTrait, TestScoping {
    package var isRecursive: Bool { true }

    /// The other process runs the whole test, with all of its arguments.
    package func scopeProvider(for test: Test, testCase: Test.Case?) -> Self? {
        test.isSuite || testCase != nil ? nil : self
    }

    package func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        if NetworkNamespace.isInside { return try await function() }
        let location = test.sourceLocation
        // The identifier of a test ends with its source location, which is unique.
        let place = "\(location.fileName):\(location.line):\(location.column)"
        // Another file's name may end with this one's.
        let pattern = "/" + NSRegularExpression.escapedPattern(for: place) + "$"
        let run = try NetworkNamespace.run(testMatching: pattern, within: .seconds(60))
        // Without a matching test the exit code differs; a skipped test is reported in the output.
        if run.exit != .code(0) || run.output.contains("skipped") || !run.output.contains("with 1 test in") {
            Issue.record("in a network of its own: \(run.exit)\n\(run.output)", sourceLocation: location)
        }
    }
}

extension Trait where Self == NetworkNamespaceTrait {
    /// The test runs in its own network namespace, in which no interface is up.
    package static var inNetworkNamespace: Self { Self() }
}

extension Trait where Self == ConditionTrait {
    /// Skips the test if network namespaces are not available.
    package static var needsNetworkNamespace: Self {
        .enabled(if: NetworkNamespace.isAvailable, "this machine lets us make no network namespace")
    }
}
