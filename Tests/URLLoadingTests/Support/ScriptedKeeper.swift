import LoadingSemantics
import LoadingStorage
import TestSupport

/// Keeps hosts as long as it lives, and does it as a test wants: it can be held at any of its calls, and can fail.
final class ScriptedKeeper: RecordKeeper, Sendable {
    enum Call: String, Sendable { case load, apply, flush, hasNews }

    fileprivate struct State {
        var kept: [String: HSTSRecord] = [:]
        var waiting: [RecordChange<HSTSRecord>] = []
        var calls: [String] = []
        var held: Set<Call> = []
        var failing: Set<Call> = []
        /// As long as nobody has read what is kept, that is news.
        var hasNews = true
        var isLost = false
    }

    private let state = Watched(State())

    init(_ hosts: String...) { state.withValue { for host in hosts { $0.kept[host] = .of(host) } } }

    // MARK: For the test

    /// What was called so far, with the changes that came along: "load", "apply +a -b *" and so on.
    var calls: [String] { state.current.calls }

    /// What is kept.
    var hosts: [String] { state.current.kept.keys.sorted() }

    /// From the next such call on, none comes back.
    func hold(_ call: Call) { state.withValue { _ = $0.held.insert(call) } }

    func letGo(_ call: Call) { state.withValue { _ = $0.held.remove(call) } }

    func setFailing(_ call: Call, _ isFailing: Bool = true) {
        state.withValue { if isFailing { $0.failing.insert(call) } else { $0.failing.remove(call) } }
    }

    /// Another process stores that host. Whoever asks hears that there is news.
    func othersStore(_ host: String) {
        state.withValue {
            $0.kept[host] = .of(host)
            $0.hasNews = true
        }
    }

    /// All that is kept goes, by no change of a record.
    func lose() {
        state.withValue {
            $0.kept = [:]
            $0.hasNews = true
            $0.isLost = true
        }
    }

    /// Until that call has come so many times, whether it is back or not.
    func wait(for call: Call, _ count: Int = 1) async throws {
        try await state.wait(for: "\(count) calls of \(call)") { state in
            state.calls.count { $0.hasPrefix(call.rawValue) } >= count ? () : nil
        }
    }

    // MARK: RecordKeeper

    func loadIfPossible() -> [HSTSRecord]? {
        enter(.load)
        return state.withValue { state in
            if state.failing.contains(.load) { return nil }
            state.hasNews = false
            return Array(state.kept.values)
        }
    }

    func apply(_ changes: [RecordChange<HSTSRecord>]) -> Bool {
        enter(.apply, changes)
        return state.withValue { state in
            state.waiting += changes
            return state.write(unless: .apply)
        }
    }

    func flush() -> Bool {
        enter(.flush)
        return state.withValue { $0.write(unless: .flush) }
    }

    func hasNews() -> Bool {
        enter(.hasNews)
        return state.current.hasNews
    }

    func hasLostFile() -> Bool {
        state.withValue { state in
            defer { state.isLost = false }
            return state.isLost
        }
    }

    private func enter(_ call: Call, _ changes: [RecordChange<HSTSRecord>] = []) {
        state.withValue { $0.calls.append(([call.rawValue] + changes.map(Self.text)).joined(separator: " ")) }
        // What is held for ever shows in the test, which waits too.
        try? state.wait(for: "the test") { $0.held.contains(call) ? nil : () }
    }

    private static func text(_ change: RecordChange<HSTSRecord>) -> String {
        switch change {
        case .stored(let record): "+" + record.host
        case .removed(let host): "-" + host
        case .everythingRemoved: "*"
        }
    }
}

extension ScriptedKeeper.State {
    fileprivate mutating func write(unless call: ScriptedKeeper.Call) -> Bool {
        if failing.contains(call) { return false }
        for change in waiting {
            switch change {
            case .stored(let record): kept[record.host] = record
            case .removed(let host): kept[host] = nil
            case .everythingRemoved: kept = [:]
            }
        }
        waiting = []
        return true
    }
}

extension HSTSRecord {
    /// Any record of that host.
    static func of(_ host: String) -> HSTSRecord {
        HSTSRecord(host: host, expires: 1000, includesSubdomains: false)
    }
}
