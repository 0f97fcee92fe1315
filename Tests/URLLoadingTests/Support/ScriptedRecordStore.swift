import LoadingSemantics
import LoadingStorage
import TestSupport

/// Keeps records as long as it lives, and does it as a test wants: it can be held at any of its calls, and can fail.
final class ScriptedRecordStore<Record: NamedRecord>: RecordStore, Sendable {
    typealias Call = ScriptedCall

    fileprivate struct State {
        var kept: [Record.Identity: Record] = [:]
        var waiting: [RecordChange<Record>] = []
        var calls: [String] = []
        var held: Set<Call> = []
        var failing: Set<Call> = []
        /// As long as nobody has read what is kept, that is news.
        var hasExternalChanges = true
        var isLost = false
        var whenApplied: (@Sendable () -> Void)?
    }

    private let state = Watched(State())

    let isLoadedCompletely: Bool

    /// - Parameter isLoadedWhole: False for one who may keep more than it tells.
    init(_ records: [Record], isLoadedCompletely: Bool = true) {
        self.isLoadedCompletely = isLoadedCompletely
        state.withValue { for record in records { $0.kept[record.identity] = record } }
    }

    // MARK: For the test

    /// What was called so far, with the changes that came along: "load", "apply +a -b *" and so on.
    var calls: [String] { state.current.calls }

    /// What is kept.
    var kept: [Record] { state.current.kept.values.sorted { $0.name < $1.name } }

    /// From the next such call on, none comes back.
    func block(_ call: Call) { state.withValue { _ = $0.held.insert(call) } }

    func unblock(_ call: Call) { state.withValue { _ = $0.held.remove(call) } }

    func setFailing(_ call: Call, _ isFailing: Bool = true) {
        state.withValue { if isFailing { $0.failing.insert(call) } else { $0.failing.remove(call) } }
    }

    /// Another process stores that record. Whoever asks hears that there is news.
    func storeFromOtherProcess(_ record: Record) {
        state.withValue {
            $0.kept[record.identity] = record
            $0.hasExternalChanges = true
        }
    }

    /// Is called with each change, on the store's thread.
    func onApply(_ body: (@Sendable () -> Void)?) { state.withValue { $0.whenApplied = body } }

    /// All that is kept goes, by no change of a record.
    func loseFile() {
        state.withValue {
            $0.kept = [:]
            $0.hasExternalChanges = true
            $0.isLost = true
        }
    }

    /// Until that call has come so many times, whether it is back or not.
    func wait(for call: Call, _ count: Int = 1) async throws {
        try await state.wait(for: "\(count) calls of \(call)") { state in
            state.calls.count { $0.hasPrefix(call.rawValue) } >= count ? () : nil
        }
    }

    // MARK: RecordStore

    func loadIfPossible() -> [Record]? {
        enter(.load)
        return state.withValue { state in
            if state.failing.contains(.load) { return nil }
            state.hasExternalChanges = false
            return Array(state.kept.values)
        }
    }

    func apply(_ changes: [RecordChange<Record>]) -> Bool {
        enter(.apply, changes)
        state.current.whenApplied?()
        return state.withValue { state in
            state.waiting += changes
            return state.write(unless: .apply)
        }
    }

    func correct(_ corrections: [RecordReplacement<Record>]) -> Bool {
        enter(.apply, corrections.map(\.change))
        state.current.whenApplied?()
        return state.withValue { state in
            if state.failing.contains(.apply) { return false }
            for correction in corrections where state.kept[correction.old.identity] == correction.old {
                state.kept[correction.old.identity] = correction.new
            }
            return true
        }
    }

    func flush() -> Bool {
        enter(.flush)
        return state.withValue { $0.write(unless: .flush) }
    }

    func hasExternalChanges() -> Bool {
        enter(.hasExternalChanges)
        return state.current.hasExternalChanges
    }

    func hasLostFile() -> Bool {
        state.withValue { state in
            defer { state.isLost = false }
            return state.isLost
        }
    }

    private func enter(_ call: Call, _ changes: [RecordChange<Record>] = []) {
        state.withValue { $0.calls.append(([call.rawValue] + changes.map(Self.text)).joined(separator: " ")) }
        // What is held for ever shows in the test, which waits too.
        try? state.wait(for: "the test") { $0.held.contains(call) ? nil : () }
    }

    private static func text(_ change: RecordChange<Record>) -> String {
        switch change {
        case .stored(let record): "+" + record.name
        case .removed(let identity): "-" + Record.name(of: identity)
        case .everythingRemoved: "*"
        }
    }
}

enum ScriptedCall: String, Sendable { case load, apply, flush, hasExternalChanges }

extension ScriptedRecordStore.State {
    fileprivate mutating func write(unless call: ScriptedCall) -> Bool {
        if failing.contains(call) { return false }
        for change in waiting {
            switch change {
            case .stored(let record): kept[record.identity] = record
            case .removed(let identity): kept[identity] = nil
            case .everythingRemoved: kept = [:]
            }
        }
        waiting = []
        return true
    }
}

/// A record that a test calls by a short name.
protocol NamedRecord: ArchivedRecord {
    static func name(of identity: Identity) -> String
}

extension NamedRecord {
    var name: String { Self.name(of: identity) }
}

extension HSTSRecord: NamedRecord {
    static func name(of identity: Identity) -> String { identity }
}

extension Cookie: NamedRecord {
    static func name(of identity: Identity) -> String { identity.name }
}

extension PersistentCredential: NamedRecord {
    static func name(of identity: Identity) -> String { identity.user }
}

extension ScriptedRecordStore<HSTSRecord> {
    convenience init(_ hosts: String...) { self.init(hosts.map { HSTSRecord.of($0) }) }

    var hosts: [String] { kept.map(\.host) }

    func storeFromOtherProcess(_ host: String) { storeFromOtherProcess(.of(host)) }
}

extension HSTSRecord {
    /// Any record of that host.
    static func of(_ host: String) -> HSTSRecord {
        HSTSRecord(host: host, expires: 1000, includesSubdomains: false)
    }
}
