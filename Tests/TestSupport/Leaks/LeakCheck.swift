internal import Foundation
package import Testing

/// Says whether a test left descriptors, threads or counted things of the engine behind.
///
/// What is new at the test's end, compared with its beginning, is given some time to go; what stays is a leak. Things
/// are known by identity, so that what another test opens and closes meanwhile does not count. Checked tests exclude
/// each other; tests that are not checked are best run without them (`--no-parallel`) where they live long.
///
/// What the process keeps for ever is brought to life before the first check (`warmUp`), or has threads by the names
/// that are allowed: those of Dispatch, which come and go as Dispatch likes, end in `-qos` or `.overcommit`.
package enum LeakCheck {
    /// Something that is counted, such as live tasks or open connections.
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

    /// How long what is left may take to go.
    package static let patience = Duration.seconds(5)

    // MARK: Arrangements

    /// Adds a count that must be back at its old value, or below, when a test has ended.
    package static func register(name: String, count: @escaping @Sendable () -> Int) {
        registry.withValue { registry in
            registry.counters.removeAll { $0.name == name }
            registry.counters.append(Counter(name: name, count: count))
        }
    }

    package static func unregister(name: String) {
        registry.withValue { $0.counters.removeAll { $0.name == name } }
    }

    /// Threads of these names may stay, as those of event loops do. The kernel keeps 15 bytes of a name.
    package static func allow(threadsNamed names: String...) {
        registry.withValue { $0.allowedThreads.formUnion(names.map { String($0.prefix(15)) }) }
    }

    /// Adds what starts something that stays for ever; it is run once, before the next check.
    package static func warmUp(_ body: @escaping @Sendable () async -> Void) {
        registry.withValue { $0.warmUps.append(body) }
    }

    /// Dispatch makes an event queue and one timer for each of its clocks at their first use, and keeps them.
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

    /// Runs the body, and records an issue that names each thing it left behind.
    package static func check<Result>(
        isolation: isolated (any Actor)? = #isolation, within patience: Duration = patience,
        sourceLocation: SourceLocation = #_sourceLocation, _ body: () async throws -> Result
    ) async rethrows -> Result {
        var leaks: [String] = []
        let result = try await run(within: patience, body) { leaks = $0 }
        if !leaks.isEmpty {
            Issue.record("left behind: \(leaks.joined(separator: ", "))", sourceLocation: sourceLocation)
        }
        return result
    }

    /// Runs the body, and names each thing it left behind.
    package static func leaks(
        isolation: isolated (any Actor)? = #isolation, within patience: Duration = patience,
        _ body: () async throws -> Void
    ) async rethrows -> [String] {
        var leaks: [String] = []
        try await run(within: patience, body) { leaks = $0 }
        return leaks
    }

    private static func run<Result>(
        isolation: isolated (any Actor)? = #isolation, within patience: Duration,
        _ body: () async throws -> Result, report: ([String]) -> Void
    ) async rethrows -> Result {
        // A test under a checked suite may ask for a check of its own: the outer one does for both.
        if isUnderCheck { return try await body() }
        await gate.enter()
        defer { gate.leave() }
        for start in registry.withValue({ $0.takeWarmUps() }) { await start() }
        let before = Snapshot(registry.current)
        // Where the body throws, that is the finding: what it broke off cannot be asked to be clean.
        let result = try await $isUnderCheck.withValue(true, operation: body)
        report(await left(since: before, within: patience))
        return result
    }

    /// No event tells of a closed descriptor or an ended thread, so this looks again and again, here only.
    private static func left(since before: Snapshot, within patience: Duration) async -> [String] {
        let clock = ContinuousClock()
        let end = clock.now + patience
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
