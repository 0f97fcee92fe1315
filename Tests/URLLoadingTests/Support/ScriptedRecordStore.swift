import LoadingSemantics
import LoadingStorage
import TestSupport

/// A record store in memory that can block in, or fail, any of its calls.
final class ScriptedRecordStore<Record: NamedRecord>: RecordStore, Sendable {
    typealias Call = ScriptedCall

    fileprivate struct State {
        var kept: [Record.Identity: Record] = [:]
        var waiting: [RecordChange<Record>] = []
        var calls: [String] = []
        var held: Set<Call> = []
        var failing: Set<Call> = []
        /// True until the records are loaded.
        var hasExternalChanges = true
        var isLost = false
        var whenApplied: (@Sendable () -> Void)?
    }

    private let state = Watched(State())

    let isLoadedCompletely: Bool

    /// - Parameter isLoadedCompletely: False for a store that may contain more records than it returns.
    init(_ records: [Record], isLoadedCompletely: Bool = true) {
        self.isLoadedCompletely = isLoadedCompletely
        state.withValue { for record in records { $0.kept[record.identity] = record } }
    }

    // MARK: For the test

    /// The calls so far, with their changes: "load", "apply +a -b *" and so on.
    var calls: [String] { state.current.calls }

    /// The stored records.
    var kept: [Record] { state.current.kept.values.sorted { $0.name < $1.name } }

    /// Blocks such calls, from the next one on.
    func block(_ call: Call) { state.withValue { _ = $0.held.insert(call) } }

    func unblock(_ call: Call) { state.withValue { _ = $0.held.remove(call) } }

    func setFailing(_ call: Call, _ isFailing: Bool = true) {
        state.withValue { if isFailing { $0.failing.insert(call) } else { $0.failing.remove(call) } }
    }

    /// Simulates that another process stores a record, which `hasExternalChanges` then reports.
    func storeFromOtherProcess(_ record: Record) {
        state.withValue {
            $0.kept[record.identity] = record
            $0.hasExternalChanges = true
        }
    }

    /// Simulates that another process removes a record.
    func removeFromOtherProcess(_ identity: Record.Identity) {
        state.withValue {
            $0.kept[identity] = nil
            $0.hasExternalChanges = true
        }
    }

    /// Sets a function that is called for each change, on the store's thread.
    func onApply(_ body: (@Sendable () -> Void)?) { state.withValue { $0.whenApplied = body } }

    /// Simulates the loss of the file.
    func loseFile() {
        state.withValue {
            $0.kept = [:]
            $0.hasExternalChanges = true
            $0.isLost = true
        }
    }

    /// Waits until a call was made that many times, returned or not.
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

/// A record with a short name for tests.
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
    /// A record of a host.
    static func of(_ host: String) -> HSTSRecord {
        HSTSRecord(host: host, expires: 1000, includesSubdomains: false)
    }
}
