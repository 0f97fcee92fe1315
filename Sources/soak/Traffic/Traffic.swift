import Foundation

/// Starts the requests of a run sequentially from one thread, on a few sessions at a time.
final class Traffic {
    private let seed: UInt64
    private let window: Int
    private let ports: Ports
    private let ledger: Ledger
    private let ticker = Ticker()
    private var sessions: [SoakSession] = []
    private var sessionCount = 0
    private var random: SeededGenerator

    private static let sessionsAtATime = 6

    init(seed: UInt64, window: Int, ports: Ports, ledger: Ledger) {
        self.seed = seed
        self.window = window
        self.ports = ports
        self.ledger = ledger
        random = SeededGenerator(seed: seed, series: -1)
    }

    /// Returns when all are started.
    func start(_ range: Range<Int>) {
        for index in range {
            while sessions.count < Self.sessionsAtATime {
                sessionCount += 1
                sessions.append(
                    SoakSession(number: sessionCount, seed: seed, ports: ports, ledger: ledger, ticker: ticker))
            }
            let sessionIndex = random.number(0...sessions.count - 1)
            sessions[sessionIndex].start(index, seed: seed, window: window)
            if sessions[sessionIndex].quota <= 0 { sessions.remove(at: sessionIndex).retire() }
        }
    }

    /// Returns when all have ended and all sessions are gone.
    func finish() {
        for session in sessions { session.retire() }
        sessions = []
        ledger.waitUntilIdle()
    }

    var madeSessions: Int { sessionCount }
}
