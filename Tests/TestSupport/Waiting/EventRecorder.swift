/// Records events in order, from any thread.
///
///     let events = EventRecorder<Event>()
///     … delegate methods call events.record(.didComplete) …
///     #expect(try await events.waitFor(count: 2) == [.didReceiveResponse, .didComplete])
package final class EventRecorder<Event: Sendable & Equatable>: Sendable {
    private let recorded = Watched<[Event]>([])

    package init() {}

    package var events: [Event] { recorded.current }
    package var count: Int { recorded.current.count }

    package func record(_ event: Event) {
        recorded.withValue { $0.append(event) }
    }

    /// Blocks until there are at least this many events, and returns all events.
    @discardableResult
    package func waitFor(count: Int, within deadline: Duration = .testDeadline) throws -> [Event] {
        try recorded.wait(for: "\(count) events", within: deadline) { $0.count >= count ? $0 : nil }
    }

    @discardableResult
    package func waitFor(count: Int, within deadline: Duration = .testDeadline) async throws -> [Event] {
        try await recorded.wait(for: "\(count) events", within: deadline) { $0.count >= count ? $0 : nil }
    }

    /// Blocks until this event is recorded, and returns all events.
    @discardableResult
    package func wait(for event: Event, within deadline: Duration = .testDeadline) throws -> [Event] {
        try recorded.wait(for: "the event \(event)", within: deadline) { $0.contains(event) ? $0 : nil }
    }

    @discardableResult
    package func wait(for event: Event, within deadline: Duration = .testDeadline) async throws -> [Event] {
        try await recorded.wait(for: "the event \(event)", within: deadline) { $0.contains(event) ? $0 : nil }
    }

    /// Blocks until the events satisfy a condition, and returns all events.
    @discardableResult
    package func waitUntil(
        _ awaited: String = "the events awaited", within deadline: Duration = .testDeadline,
        _ isSatisfied: ([Event]) -> Bool
    ) throws -> [Event] {
        try recorded.wait(for: awaited, within: deadline) { isSatisfied($0) ? $0 : nil }
    }

    @discardableResult
    package func waitUntil(
        _ awaited: String = "the events awaited", within deadline: Duration = .testDeadline,
        _ isSatisfied: @escaping @Sendable ([Event]) -> Bool
    ) async throws -> [Event] {
        try await recorded.wait(for: awaited, within: deadline) { isSatisfied($0) ? $0 : nil }
    }
}
