package import LoadingSemantics
package import LoadingStorage

/// A record that is made for the steps.
package protocol StepRecord: ArchivedRecord, Equatable {
    static func make(_ number: Int, _ version: Int) -> Self
    /// What the versions of a record differ in.
    var text: String { get }
}

/// Stores, replaces and removes a few records a step, and once all of them.
package struct RecordSteps<Record: StepRecord>: StorageSteps {
    package typealias State = [String: Int]
    private let archive: RecordArchive<Record>

    package init(in directory: StorageDirectory) { archive = RecordArchive(in: directory) }

    package static var count: Int { 8 }

    private static func changes(_ step: Int) -> [RecordChange<Record>] {
        if step == 5 { return [.everythingRemoved, .stored(.make(99, step))] }
        return [
            .stored(.make(step, step)), .stored(.make(step + 100, step)), .stored(.make(0, step)),
            .removed(Record.make(step - 2, 0).identity),
        ]
    }

    package func perform(_ step: Int) -> Bool {
        if step == 0 { _ = archive.load() }
        return archive.apply(Self.changes(step))
    }

    package static func state(after steps: Int) -> State {
        var records: [Record.Identity: Record] = [:]
        for step in 0..<steps {
            for change in changes(step) {
                switch change {
                case .stored(let record): records[record.identity] = record
                case .removed(let identity): records[identity] = nil
                case .everythingRemoved: records = [:]
                }
            }
        }
        return state(records.values)
    }

    package func state() -> State { Self.state(archive.load()) }

    private static func state(_ records: some Sequence<Record>) -> State {
        records.reduce(into: [:]) { $0[$1.text, default: 0] += 1 }
    }
}

extension Cookie: StepRecord {
    package static func make(_ number: Int, _ version: Int) -> Cookie {
        // Some are larger than a page.
        let value = "\(version)" + String(repeating: "x", count: number % 4 == 1 ? 6000 : 40)
        var cookie = Cookie(name: "c\(number)", value: value, domain: "example.org", created: Double(version))
        cookie.expires = 4e9
        return cookie
    }

    package var text: String { "\(name) \(value.prefix { $0 != "x" })" }
}

extension HSTSRecord: StepRecord {
    package static func make(_ number: Int, _ version: Int) -> HSTSRecord {
        HSTSRecord(host: "h\(number).example", expires: Int64(version), includesSubdomains: true)
    }

    package var text: String { "\(host) \(expires)" }
}

extension AlternativeServicesRecord: StepRecord {
    package static func make(_ number: Int, _ version: Int) -> AlternativeServicesRecord {
        let service = AlternativeService(port: 443, persists: true)
        return AlternativeServicesRecord(
            origin: HostPort("h\(number).example", 443), entries: [Entry(service, expires: Int64(version))])
    }

    package var text: String { "\(origin.host) \(entries.map(\.expires))" }
}

extension PersistentCredential: StepRecord {
    package static func make(_ number: Int, _ version: Int) -> PersistentCredential {
        PersistentCredential(
            space: Space(
                host: "h\(number)", port: 443, protocolName: "https", realm: nil, authenticationMethod: "Basic"),
            user: "u", password: "p\(version)")
    }

    package var text: String { "\(space.host) \(password)" }
}
