internal import Foundation
package import Testing

/// Detects descriptors, threads and counted objects that a test leaves behind.
///
/// Compares the resources at the end of a test with those at its beginning. New ones have some time to go away; those
/// that stay are leaks. Resources are compared by identity, so that those of concurrent tests do not count. Checked
/// tests run one at a time; long unchecked tests should not run beside them (`--no-parallel`).
///
/// Resources that the process keeps are created before the first check (`warmUp`), or have threads with allowed names.
/// Dispatch threads, whose names end in `-qos` or `.overcommit`, are always allowed.
package enum LeakCheck {
    /// A counter, such as of live tasks or open connections.
    private struct Counter: Sendable {
        let name: String
        let count: @Sendable () -> Int
    }

    private struct Registry {
        var counters: [Counter] = []
        var allowedThreads: Set<String> = []
        var warmUps: [@Sendable () async -> Void] = [startDispatch]

        mutating func takeWarmUps() -> [@Sendable () async -> Void] {
            defer { warmUps = [] }
            return warmUps
        }
    }

    private static let registry = Watched(Registry())
    private static let gate = AsyncMutex()
    @TaskLocal private static var isUnderCheck = false

    /// How long to wait for remaining resources.
    package static let timeout = Duration.seconds(5)

    // MARK: Configuration

    /// Adds a counter that must not be higher after a test than before.
    package static func register(name: String, count: @escaping @Sendable () -> Int) {
        registry.withValue { registry in
            registry.counters.removeAll { $0.name == name }
            registry.counters.append(Counter(name: name, count: count))
        }
    }

    package static func unregister(name: String) {
        registry.withValue { $0.counters.removeAll { $0.name == name } }
    }

    /// Allows threads with these names, such as those of event loops. The kernel truncates names to 15 bytes.
    package static func allow(threadsNamed names: String...) {
        registry.withValue { $0.allowedThreads.formUnion(names.map { String($0.prefix(15)) }) }
    }

    /// Adds code that creates permanent resources. It runs once, before the next check.
    package static func warmUp(_ body: @escaping @Sendable () async -> Void) {
        registry.withValue { $0.warmUps.append(body) }
    }

    /// Dispatch creates an event queue and a timer for each clock at first use, and keeps them.
    @Sendable private static func startDispatch() async {
        try? await Task.sleep(for: .milliseconds(1))
        await withCheckedContinuation { continuation in
            DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(1)) { continuation.resume() }
        }
        await withCheckedContinuation { continuation in
            DispatchQueue.global().asyncAfter(wallDeadline: .now() + .milliseconds(1)) { continuation.resume() }
        }
    }

    // MARK: Checking

    /// Runs the body, and records an issue with each leaked resource.
    package static func check<Result>(
        isolation: isolated (any Actor)? = #isolation, within timeout: Duration = timeout,
        sourceLocation: SourceLocation = #_sourceLocation, _ body: () async throws -> Result
    ) async rethrows -> Result {
        var leaks: [String] = []
        let result = try await run(within: timeout, body) { leaks = $0 }
        if !leaks.isEmpty {
            Issue.record("left behind: \(leaks.joined(separator: ", "))", sourceLocation: sourceLocation)
        }
        return result
    }

    /// Runs the body, and returns the leaked resources.
    package static func leaks(
        isolation: isolated (any Actor)? = #isolation, within timeout: Duration = timeout,
        _ body: () async throws -> Void
    ) async rethrows -> [String] {
        var leaks: [String] = []
        try await run(within: timeout, body) { leaks = $0 }
        return leaks
    }

    private static func run<Result>(
        isolation: isolated (any Actor)? = #isolation, within timeout: Duration,
        _ body: () async throws -> Result, report: ([String]) -> Void
    ) async rethrows -> Result {
        // A test in a checked suite may have the trait too. The outer check is sufficient.
        if isUnderCheck { return try await body() }
        await gate.enter()
        defer { gate.leave() }
        for start in registry.withValue({ $0.takeWarmUps() }) { await start() }
        let before = Snapshot(registry.current)
        // If the body throws, leaks are not reported: an aborted test cannot clean up.
        let result = try await $isUnderCheck.withValue(true, operation: body)
        report(await left(since: before, within: timeout))
        return result
    }

    /// Polls, because there are no events for closed descriptors and ended threads.
    private static func left(since before: Snapshot, within timeout: Duration) async -> [String] {
        let clock = ContinuousClock()
        let end = clock.now + timeout
        var left = Snapshot(registry.current).subtracting(before)
        while !left.isEmpty, clock.now < end {
            try? await Task.sleep(for: .milliseconds(5))
            left.keep(stillIn: Snapshot(registry.current), since: before)
        }
        return left.descriptions
    }
}

extension LeakCheck {
    private struct Snapshot {
        var resources: ProcessResources
        var counts: [String: Int]
        let allowedThreads: Set<String>

        init(_ registry: Registry) {
            resources = .current
            allowedThreads = registry.allowedThreads
            counts = Dictionary(registry.counters.map { ($0.name, $0.count()) }) { $1 }
        }

        var isEmpty: Bool { resources.isEmpty && counts.isEmpty }

        func subtracting(_ before: Self) -> Self {
            var left = self
            left.resources = resources.subtracting(before.resources)
            left.resources.threads = left.resources.threads.filter { thread in
                !allowedThreads.contains(thread.name)
                    && !thread.name.hasSuffix("-qos") && !thread.name.hasSuffix(".overcommit")
            }
            left.counts = counts.filter { $0.value > before.counts[$0.key] ?? 0 }
            return left
        }

        mutating func keep(stillIn now: Self, since before: Self) {
            let new = now.subtracting(before)
            resources.descriptors.formIntersection(new.resources.descriptors)
            resources.threads.formIntersection(new.resources.threads)
            counts = new.counts
        }

        var descriptions: [String] {
            (resources.isEmpty ? [] : [resources.description])
                + counts.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }
        }
    }
}
