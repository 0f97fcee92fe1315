package import FoundationEssentials
package import LoadingSemantics
package import LoadingStorage

/// Stores responses with bodies in the index and in files, in the place of each other, changes their heads, removes
/// some and all, and takes room away.
package struct ResponseSteps: StorageSteps {
    /// By the key's number: the version of the head, and that of the body.
    package typealias State = [Int: String]

    private enum Action {
        case store(Int, size: Int)
        case storeInPieces(Int, size: Int)
        case update(Int)
        case remove(Int)
        case removeAll
    }

    private static let actions: [Action] = [
        .store(1, size: 100), .store(2, size: 50_000), .store(3, size: 16_384), .storeInPieces(1, size: 40_000),
        .update(2), .store(2, size: 200), .remove(3), .storeInPieces(4, size: 120_000), .update(4), .removeAll,
        .store(5, size: 30_000), .store(5, size: 31_000), .update(5), .store(1, size: 10),
    ]

    private let archive: ResponseArchive

    package init(in directory: StorageDirectory) {
        archive = ResponseArchive(in: directory, capacity: 10_000_000)
    }

    package static var count: Int { actions.count }

    package func perform(_ step: Int) -> Bool {
        switch Self.actions[step] {
        case .store(let number, let size):
            return archive.store(
                Self.head(number, step), body: Self.body(step, size), for: Self.key(number), at: Double(step))
        case .storeInPieces(let number, let size):
            let writer = archive.begin()
            let body = Self.body(step, size)
            for start in stride(from: 0, to: size, by: 10_000) {
                writer.append(Data(body[start..<min(start + 10_000, size)]))
            }
            return archive.commit(writer, Self.head(number, step), for: Self.key(number), at: Double(step))
        case .update(let number):
            guard let entry = archive.entry(for: Self.key(number)) else { return false }
            return archive.update(entry, Self.head(number, step))
        case .remove(let number):
            archive.remove(Self.key(number))
        case .removeAll:
            archive.removeAll()
        }
        return archive.writeFailure == nil
    }

    package static func state(after steps: Int) -> State {
        var state: [Int: (head: Int, body: Int, size: Int)] = [:]
        for step in 0..<steps {
            switch actions[step] {
            case .store(let number, let size), .storeInPieces(let number, let size):
                state[number] = (step, step, size)
            case .update(let number): state[number]?.head = step
            case .remove(let number): state[number] = nil
            case .removeAll: state = [:]
            }
        }
        return state.mapValues { "\($0.head) \($0.body) \($0.size)" }
    }

    package func state() -> State {
        var state: State = [:]
        for number in 0..<10 {
            guard let entry = archive.entry(for: Self.key(number)) else { continue }
            let version = entry.head.response.fields.firstValue("Version") ?? "none"
            guard let body = archive.body(of: entry), let first = body.first else {
                state[number] = version + " without a body"
                continue
            }
            let isWhole = body == Self.body(Int(first), body.count)
            state[number] = "\(version) \(isWhole ? Int(first) : -1) \(body.count)"
        }
        return state
    }

    package static func key(_ number: Int) -> CacheKey {
        guard let url = try? HTTPURL("https://example.org/\(number)"), let key = CacheKey(url: url) else {
            // The address is one, and of a scheme that is cached.
            preconditionFailure("no address")
        }
        return key
    }

    package static func head(_ number: Int, _ version: Int) -> ArchivedResponse {
        ArchivedResponse(
            url: "https://example.org/\(number)",
            response: StoredResponse(
                status: 200, fields: HTTPFields([("Version", "\(version)"), ("Content-Type", "text/plain")]),
                requestTime: 1, responseTime: 2, variant: CacheVariant(names: [], fingerprint: [])),
            protocolName: "HTTP/1.1")
    }

    /// Begins with its version.
    package static func body(_ version: Int, _ size: Int) -> Data {
        Data((0..<size).map { UInt8(truncatingIfNeeded: $0 == 0 ? version : $0 &* (version + 3) >> 3) })
    }
}
