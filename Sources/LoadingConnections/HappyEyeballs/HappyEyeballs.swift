internal import Glibc
package import LoadingSemantics
package import LoadingTransport

/// Finds the address of a host that answers first, with a preference for IPv6 (RFC 8305, CONN-9).
///
/// A value without sockets and without a clock: it takes events and their times, and returns the actions to perform.
/// Times are nanoseconds of any monotonic clock. After `succeeded` or `failed` it returns no more actions.
package struct HappyEyeballs: Sendable {
    package typealias Attempt = Int

    package enum Input: Sendable, Equatable {
        /// The answer for one family, which may be empty. `isCached` is whether the host may have other addresses by
        /// now.
        case resolved(SocketAddress.Family, [SocketAddress], isCached: Bool = false)
        case resolutionFailed(SocketAddress.Family, LoadError)
        case attemptFailed(Attempt, LoadError)
        case attemptSucceeded(Attempt)
        /// The lookup of services has ended, and the race is still needed.
        case servicesKnown
        /// The time of the last `setDeadline` has come.
        case deadline
        /// The connection is no longer needed.
        case cancelled
    }

    package enum Action: Sendable, Equatable {
        case connect(Attempt, SocketAddress)
        /// Resolve all families again, without the cache. The answers should have no address that was tried.
        case resolveAgain
        /// Close the attempt, whatever its state.
        case abandon(Attempt)
        /// Replaces the previous deadline.
        case setDeadline(Int64)
        case clearDeadline
        case succeeded(Attempt)
        case failed(LoadError)
    }

    /// Only the first addresses of a host with very many addresses are tried.
    package static let maximumAddressesPerFamily = 8

    private let attemptDelay: Int64
    private let resolutionDelay: Int64
    private let addressSilence: Int64
    private let families: [SocketAddress.Family]
    /// The families that are not resolved yet.
    private var unresolved: [SocketAddress.Family]
    /// Whether the lookup of services is still pending.
    private var awaitsServices: Bool
    private var hasCachedAddresses = false
    private(set) var hasResolvedAgain = false
    private var waiting: CandidateQueue
    private var running: [Attempt] = []
    private var attemptCount = 0
    private var lastAttemptTime: Int64 = 0
    /// When the first attempt may start without the pending answers.
    private var resolutionDelayEnd: Int64?
    private var deadline: Int64?
    private var isOver = false

    /// All failures so far, in order.
    package private(set) var failures: [LoadError] = []

    /// - Parameters:
    ///   - families: The families that are being resolved.
    ///   - awaitsServices: Whether name servers are also queried for services.
    ///   - avoided: Addresses that are tried last, when the others have failed or had time to answer.
    ///   - limits: `resolutionDelay` is short, because all queries are sent at once, mostly to the same server, so the
    ///     other answers arrive with the first one or soon after. `attemptDelay` is clamped to its bounds.
    package init(
        families: [SocketAddress.Family] = [.ipv4, .ipv6], awaitsServices: Bool = false,
        avoiding avoided: Set<SocketAddress> = [], limits: TimeLimits = .standard
    ) {
        waiting = CandidateQueue(avoiding: avoided)
        self.families = families
        unresolved = families
        self.awaitsServices = awaitsServices
        self.attemptDelay = min(max(limits.attemptDelay, limits.shortestAttemptDelay), limits.longestAttemptDelay)
        resolutionDelay = limits.resolutionDelay
        addressSilence = limits.addressSilence
    }

    package mutating func handle(_ input: Input, at now: Int64) -> [Action] {
        if isOver { return [] }
        switch input {
        case .resolved(let family, let addresses, let isCached):
            unresolved.removeAll { $0 == family }
            if isCached, !addresses.isEmpty { hasCachedAddresses = true }
            waiting.add(addresses)
            return advance(at: now)
        case .resolutionFailed(let family, let error):
            unresolved.removeAll { $0 == family }
            failures.append(error)
            return advance(at: now)
        case .attemptFailed(let attempt, let error):
            guard let index = running.firstIndex(of: attempt) else { return [] }
            running.remove(at: index)
            failures.append(error)
            return advance(at: now, isFailure: true)
        case .attemptSucceeded(let attempt):
            guard running.contains(attempt) else { return [] }
            return end(keeping: attempt) + [.succeeded(attempt)]
        case .servicesKnown:
            awaitsServices = false
            return advance(at: now)
        case .deadline:
            // A timer may fire early; then the same deadline is set again.
            deadline = nil
            return advance(at: now)
        case .cancelled:
            return end(keeping: nil)
        }
    }

    /// Starts at most one attempt, and updates the deadline.
    private mutating func advance(at now: Int64, isFailure: Bool = false) -> [Action] {
        var actions: [Action] = []
        if !waiting.isEmpty, mayStart(at: now, isFailure: isFailure), let address = waiting.next() {
            attemptCount += 1
            lastAttemptTime = now
            running.append(attemptCount)
            actions.append(.connect(attemptCount, address))
        }
        if mustResolveAgain(at: now) {
            hasResolvedAgain = true
            unresolved = families
            waiting.reset()
            actions.append(.resolveAgain)
        }
        if waiting.isEmpty, running.isEmpty, unresolved.isEmpty {
            return actions + end(keeping: nil) + [.failed(mostSpecificFailure)]
        }
        let next = nextDeadline(at: now)
        if let next, next != deadline { actions.append(.setDeadline(next)) }
        if next == nil, deadline != nil { actions.append(.clearDeadline) }
        deadline = next
        return actions
    }

    private func mayStart(at now: Int64, isFailure: Bool) -> Bool {
        if attemptCount > 0 {
            return isFailure && !waiting.hasOnlyAvoided || running.isEmpty || now >= lastAttemptTime + nextDelay
        }
        let mayBeFirst = !waiting.hasOnlyAvoided || unresolved.isEmpty
        if !awaitsServices, mayBeFirst, waiting.hasIPv6 || !unresolved.contains(.ipv6) { return true }
        guard let resolutionDelayEnd else { return false }
        return now >= resolutionDelayEnd
    }

    /// An address to avoid may accept the connection first again.
    private var nextDelay: Int64 { waiting.hasOnlyAvoided ? max(addressSilence, attemptDelay) : attemptDelay }

    /// Whether the addresses are all tried, and there may be others.
    private var mayResolveAgain: Bool {
        hasCachedAddresses && !hasResolvedAgain && waiting.isEmpty && unresolved.isEmpty
    }

    private func mustResolveAgain(at now: Int64) -> Bool {
        guard mayResolveAgain else { return false }
        // A host may have moved, and another of its addresses may swallow everything.
        if !running.isEmpty { return now >= lastAttemptTime + addressSilence }
        // Without a network, neither an address nor a name server answers.
        return mostSpecificFailure.code != LoadError.notConnectedToInternet.code
    }

    private mutating func nextDeadline(at now: Int64) -> Int64? {
        if waiting.isEmpty { return mayResolveAgain && !running.isEmpty ? lastAttemptTime + addressSilence : nil }
        if attemptCount > 0 { return lastAttemptTime + nextDelay }
        let end = resolutionDelayEnd ?? now + resolutionDelay
        resolutionDelayEnd = end
        return end
    }

    private mutating func end(keeping winner: Attempt?) -> [Action] {
        isOver = true
        var actions = running.filter { $0 != winner }.map { Action.abandon($0) }
        if deadline != nil { actions.append(.clearDeadline) }
        running = []
        deadline = nil
        return actions
    }

    /// The first of those with the highest rank. A host without any address cannot be found.
    private var mostSpecificFailure: LoadError {
        var best: LoadError?
        for failure in failures where best.map({ failure.specificity > $0.specificity }) ?? true { best = failure }
        return best ?? .cannotFindHost
    }
}

extension LoadError {
    /// How specific the failure of an attempt is to the host. A host that answered ranks above one that was never
    /// reached, and any attempt ranks above a name that was not found in one family.
    var specificity: Int {
        switch (code, cause) {
        case (-1299 ... -1200, _): 6
        case (-1004, .posix(ECONNREFUSED)): 5
        case (-1004, .posix(EHOSTUNREACH)): 2
        case (-1004, _), (-1005, _): 4
        case (-1001, _): 3
        case (-1009, _): 1
        case (-1003, _): 0
        default: 4
        }
    }
}
