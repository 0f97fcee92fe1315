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
        fileprivate let number: UInt64
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
            if let number = head.tunnelRound {
                if keepsTunnels { keep(head, ofRound: number) }
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

    private func keep(_ head: MessageHead, ofRound number: UInt64) {
        let now = Date()
        if case .request = head.start {
            return rounds.append(TunnelRound(number: number, start: now, request: head, end: now))
        }
        // Several tunnels may be made at once, as for the two families of addresses.
        guard let index = rounds.lastIndex(where: { $0.number == number }), rounds[index].response == nil else {
            return
        }
        rounds[index].response = head
        rounds[index].end = now
    }
}
