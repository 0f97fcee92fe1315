import Foundation
import LoadingEvents

/// The heads of a load as they are on the wire, those of requests that are sent again among them: told as they come, and
/// what somebody will ask for kept until then.
///
/// Unchecked: `lock` guards what changes. Heads come on the session's loop and are taken on the delegate's queue.
final class ObservedHeads: @unchecked Sendable {
    /// Which responses will be taken.
    enum Keeping {
        case none
        case last
        case all
    }

    /// What was asked of a proxy that was to make a tunnel, and what it said.
    struct TunnelRound {
        let start: Date
        let request: MessageHead
        var end: Date
        var response: MessageHead?
    }

    private let narrator: Narrator
    private let keeping: Keeping
    private let keepsTunnels: Bool
    private let lock = NSLock()
    private var responses: [MessageHead] = []
    private var rounds: [TunnelRound] = []

    /// - Parameter keepsTunnels: Whether the rounds with proxies will be taken.
    init(_ narrator: Narrator, keeping: Keeping, keepsTunnels: Bool) {
        self.narrator = narrator
        self.keeping = keeping
        self.keepsTunnels = keepsTunnels
    }

    func observe(_ head: MessageHead) {
        narrator.head(head)
        lock.withLock {
            if head.isOfTunnel {
                if keepsTunnels { keepRound(head) }
            } else if case .response = head.start {
                keep(head)
            }
        }
    }

    /// The responses of servers that have begun since the last call. There is none for what does not come over HTTP.
    func takeResponses() -> [MessageHead] {
        lock.withLock {
            defer { responses = [] }
            return responses
        }
    }

    /// After the end.
    var tunnelRounds: [TunnelRound] { lock.withLock { rounds } }

    private func keep(_ response: MessageHead) {
        switch keeping {
        case .none: break
        case .last: responses = [response]
        case .all: responses.append(response)
        }
    }

    private func keepRound(_ head: MessageHead) {
        let now = Date()
        if case .request = head.start { return rounds.append(TunnelRound(start: now, request: head, end: now)) }
        guard let last = rounds.indices.last, rounds[last].response == nil else { return }
        rounds[last].response = head
        rounds[last].end = now
    }
}
