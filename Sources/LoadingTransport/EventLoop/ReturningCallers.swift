/// Predicts whether resumed `async` callers make requests again at once, as a task group does that starts a load for
/// each one that ends. If they do, what the job of one leaves to be done waits for the job of the last, so that their
/// requests on one connection are sent together. docs/decisions/0019-borrowed-loops.md
///
/// Guarded by the loop's lock.
struct ReturningCallers: Equatable {
    /// A caller that returns later than this is late. No request waits longer for those of other callers.
    let limit: Int64
    /// The number of returns after which the work is done in any case, so that servers start on it.
    let together: Int

    /// The number of callers that were resumed and have not returned.
    private var awaited = 0
    /// Whether at least as many callers returned as were late, in the last interval with either.
    private var areExpected = false
    /// The numbers of callers in the current interval, which lasts for at least `limit`.
    private var (resumed, returned) = (0, 0)
    private var start: Int64 = 0
    /// When the loop's thread went to sleep.
    private var sleepStart: Int64 = 0
    /// Whether it wakes up within `limit`.
    private var isGathering = false
    /// The number of callers whose work waits.
    private var gathered = 0

    init(limit: Int64, together: Int) {
        self.limit = limit
        self.together = together
    }

    var isEmpty: Bool { awaited == 0 }

    mutating func noteResumption() {
        awaited += 1
        resumed += 1
    }

    /// The loop's thread goes to sleep. Returns whether it must wake up within `limit`, because callers are expected.
    mutating func noteSleep(at now: Int64) -> Bool {
        if now - start >= limit {
            let late = max(0, awaited - resumed)
            if returned + late > 0 { areExpected = returned >= late }
            awaited -= late
            (resumed, returned, start) = (0, 0, now)
        }
        sleepStart = now
        isGathering = areExpected && awaited > 1
        gathered = 0
        return isGathering
    }

    mutating func noteWaking() { isGathering = false }

    /// A caller returns while the loop's thread is awake, which does its work with that of others in any case.
    mutating func noteReturn() {
        guard awaited > 0 else { return }
        awaited -= 1
        returned += 1
    }

    /// A caller returns while the loop's thread sleeps. Returns whether its work can wait for that of the next one.
    mutating func noteReturnDuringSleep(at now: Int64) -> Bool {
        if now - sleepStart >= limit {
            awaited = 0
            areExpected = false
            isGathering = false
        }
        noteReturn()
        guard isGathering, awaited > 0, gathered + 1 < together else {
            gathered = 0
            return false
        }
        gathered += 1
        return true
    }
}
