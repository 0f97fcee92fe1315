import Foundation
import LoadingEvents

/// Records the request and response heads of a load as on the wire, repeated requests included. Each one is printed as
/// it arrives; those that are needed later are kept.
///
/// Unchecked: `lock` guards the mutable state. Heads arrive on the session's loop and are taken on the delegate queue.
final class HeadRecorder: @unchecked Sendable {
    /// Which response heads to keep.
    enum Retention {
        case none
        case last
        case all
    }

    /// A CONNECT request and its response.
    struct TunnelExchange {
        fileprivate let number: UInt64
        let start: Date
        let request: MessageHead
        var end: Date
        var response: MessageHead?
    }

    private let verboseOutput: VerboseOutput
    private let retaining: Retention
    private let keepsTunnels: Bool
    private let lock = NSLock()
    private var responses: [MessageHead] = []
    private var rounds: [TunnelExchange] = []

    /// - Parameter keepsTunnels: Whether to keep CONNECT requests.
    init(_ verboseOutput: VerboseOutput, retaining: Retention, keepsTunnels: Bool) {
        self.verboseOutput = verboseOutput
        self.retaining = retaining
        self.keepsTunnels = keepsTunnels
    }

    func observe(_ head: MessageHead) {
        verboseOutput.head(head)
        lock.withLock {
            if let number = head.tunnelRound {
                if keepsTunnels { keep(head, ofRound: number) }
            } else if case .response = head.start {
                keep(head)
            }
        }
    }

    /// The response heads since the last call. Empty for schemes other than HTTP.
    func takeResponses() -> [MessageHead] {
        lock.withLock {
            defer { responses = [] }
            return responses
        }
    }

    /// The CONNECT requests. Complete after the load has ended.
    var tunnelExchanges: [TunnelExchange] { lock.withLock { rounds } }

    private func keep(_ response: MessageHead) {
        switch retaining {
        case .none: break
        case .last: responses = [response]
        case .all: responses.append(response)
        }
    }

    private func keep(_ head: MessageHead, ofRound number: UInt64) {
        let now = Date()
        if case .request = head.start {
            return rounds.append(TunnelExchange(number: number, start: now, request: head, end: now))
        }
        // Several tunnels may be opened in parallel, for example for both address families.
        guard let index = rounds.lastIndex(where: { $0.number == number }), rounds[index].response == nil else {
            return
        }
        rounds[index].response = head
        rounds[index].end = now
    }
}
