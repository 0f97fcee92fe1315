import Testing

@testable import BackgroundTransfers

/// The order of the transfers (BG-19).
struct TransferScheduleTests {
    private func reference(_ application: String, _ session: String, _ task: Int) -> TransferReference {
        TransferReference(application: application, session: session, task: task)
    }

    private func all(_ schedule: inout TransferSchedule) -> [String] {
        var names: [String] = []
        while let next = schedule.next() { names.append("\(next.application)\(next.session)\(next.task)") }
        return names
    }

    // BG-19
    @Test("priority, then age; a few at once") func order() {
        var schedule = TransferSchedule(limits: .init(perSession: 2, total: 10))
        for (task, priority) in [(1, 0.5), (2, 0.5), (3, 1), (4, 0), (5, 0.5)] {
            schedule.enqueue(reference("a", "s", task), priority: Float(priority))
        }
        #expect(all(&schedule) == ["as3", "as1"])
        schedule.remove(reference("a", "s", 3))
        #expect(all(&schedule) == ["as2"])
        schedule.remove(reference("a", "s", 4))
        schedule.setPriority(1, of: reference("a", "s", 5))
        schedule.enqueue(reference("a", "s", 4), priority: 0)
        schedule.remove(reference("a", "s", 1))
        schedule.remove(reference("a", "s", 2))
        #expect(all(&schedule) == ["as5", "as4"])
        for task in 1...5 { schedule.remove(reference("a", "s", task)) }
        #expect(schedule.runningCount == 0)
        #expect(schedule.next() == nil)
    }

    @Test("applications take turns, and the sessions of each") func turns() {
        var schedule = TransferSchedule(limits: .init(perSession: 10, total: 6))
        for task in 1...1000 { schedule.enqueue(reference("a", "s", task), priority: 1) }
        for task in 1...2 {
            schedule.enqueue(reference("b", "x", task), priority: 0)
            schedule.enqueue(reference("b", "y", task), priority: 0)
        }
        #expect(all(&schedule) == ["as1", "bx1", "as2", "by1", "as3", "bx2"])
        // What runs is the limit, whoever it belongs to.
        schedule.remove(reference("a", "s", 1))
        #expect(all(&schedule) == ["as4"])
        schedule.remove(reference("b", "x", 1))
        #expect(all(&schedule) == ["by2"])
    }

    @Test("a session at its limit does not keep others waiting") func full() {
        var schedule = TransferSchedule(limits: .init(perSession: 1, total: 10))
        for task in 1...3 { schedule.enqueue(reference("a", "s", task), priority: 1) }
        schedule.enqueue(reference("a", "t", 1), priority: 0)
        schedule.enqueue(reference("b", "u", 1), priority: 0)
        #expect(all(&schedule) == ["as1", "bu1", "at1"])
        schedule.remove(reference("a", "s", 1))
        #expect(all(&schedule) == ["as2"])
    }

    // BG-19: a program that changes the priority all the time, or suspends and resumes, while the queue does not get on
    @Test("a queue has no more entries than transfers", arguments: [true, false]) func bounded(isSuspended: Bool) {
        var schedule = TransferSchedule(limits: .init(perSession: 1, total: 10))
        for task in 1...20 { schedule.enqueue(reference("a", "s", task), priority: 0.5) }
        #expect(all(&schedule) == ["as1"])
        let size = "\(schedule)".utf8.count
        for round in 1...5000 {
            let task = reference("a", "s", 2 + round % 19)
            if isSuspended {
                schedule.remove(task)
                schedule.enqueue(task, priority: 0.5)
            } else {
                schedule.setPriority(Float(round % 7) / 7, of: task)
            }
        }
        // Room for as many again, and for longer numbers.
        #expect("\(schedule)".utf8.count < size * 20)
        for task in 2...20 { schedule.setPriority(Float(21 - task) / 20, of: reference("a", "s", task)) }
        for task in 1...19 {
            schedule.remove(reference("a", "s", task))
            #expect(all(&schedule) == ["as\(task + 1)"])
        }
    }

    // BG-19, AUTH-33
    @Test("those that wait for their program leave their places, a few of them") func waiting() {
        var schedule = TransferSchedule(limits: .init(perSession: 2, total: 3, waiting: 2))
        for task in 1...9 { schedule.enqueue(reference("a", "s", task), priority: 1) }
        #expect(all(&schedule) == ["as1", "as2"])
        schedule.setWaits(true, reference("a", "s", 1))
        schedule.setWaits(true, reference("a", "s", 2))
        #expect(schedule.runningCount == 0)
        #expect(all(&schedule) == ["as3", "as4"])
        // Two wait already.
        schedule.setWaits(true, reference("a", "s", 3))
        #expect(all(&schedule) == [])
        // They have their answers: three run, one waits in its place, and none follows before three of them have ended.
        schedule.setWaits(false, reference("a", "s", 1))
        schedule.setWaits(false, reference("a", "s", 2))
        #expect(schedule.runningCount == 3)
        for task in [1, 3] {
            schedule.remove(reference("a", "s", task))
            #expect(all(&schedule) == [])
        }
        schedule.remove(reference("a", "s", 2))
        #expect(all(&schedule) == ["as5"])
        // One that ends while it waits, one that is unknown, and one that is queued.
        schedule.setWaits(true, reference("a", "s", 5))
        schedule.remove(reference("a", "s", 5))
        schedule.setWaits(false, reference("a", "s", 5))
        schedule.setWaits(true, reference("b", "s", 5))
        schedule.setWaits(true, reference("a", "s", 9))
        #expect(schedule.runningCount == 1)
        #expect(all(&schedule) == ["as6"])
        for task in [4, 6, 7, 8, 9] { schedule.remove(reference("a", "s", task)) }
        #expect(schedule.runningCount == 0)
    }

    // BG-19, AUTH-33: the programs may not be started again for days
    @Test("those that wait for absent programs stop their session only") func waitingForAbsentPrograms() {
        var schedule = TransferSchedule(limits: .init(perSession: 2, total: 2, waiting: 1))
        for task in 1...5 { schedule.enqueue(reference("a", "s", task), priority: 1) }
        #expect(all(&schedule) == ["as1", "as2"])
        for task in [1, 2] { schedule.setWaits(true, reference("a", "s", task)) }
        #expect(all(&schedule) == ["as3"])
        // Those beyond the limit keep their places in the session. Another challenge changes nothing.
        for _ in 0..<2 { schedule.setWaits(true, reference("a", "s", 3)) }
        #expect(schedule.runningCount == 0)
        for task in 1...3 { schedule.enqueue(reference("b", "t", task), priority: 0) }
        #expect(all(&schedule) == ["bt1", "bt2"])
        // One has its answer, and one ends while it waits.
        schedule.setWaits(false, reference("a", "s", 2))
        #expect(schedule.runningCount == 3)
        schedule.remove(reference("a", "s", 3))
        #expect(schedule.runningCount == 3)
        #expect(all(&schedule) == [])
        for task in [1, 2, 4, 5] { schedule.remove(reference("a", "s", task)) }
        for task in 1...3 { schedule.remove(reference("b", "t", task)) }
        #expect(schedule.runningCount == 0)
    }

    // BG-19, AUTH-33
    @Test("those beyond the limit leave their places when others are answered", arguments: [false, true])
    func waitingBeyondTheLimit(isRemoved: Bool) {
        var schedule = TransferSchedule(limits: .init(perSession: 2, total: 10, waiting: 2))
        for task in 1...9 { schedule.enqueue(reference("a", "s", task), priority: 1) }
        for first in [1, 3] {
            #expect(all(&schedule) == ["as\(first)", "as\(first + 1)"])
            for task in first...(first + 1) { schedule.setWaits(true, reference("a", "s", task)) }
        }
        // 1 and 2 wait elsewhere, 3 and 4 in the places of the session.
        #expect(all(&schedule) == [])
        for task in [1, 2] {
            if isRemoved {
                schedule.remove(reference("a", "s", task))
            } else {
                schedule.setWaits(false, reference("a", "s", task))
            }
        }
        // 3 and 4 have left their places, which 1 and 2 have if they go on.
        #expect(schedule.runningCount == (isRemoved ? 0 : 2))
        #expect(all(&schedule) == (isRemoved ? ["as5", "as6"] : []))
        for task in 1...4 { schedule.remove(reference("a", "s", task)) }
        #expect(all(&schedule) == (isRemoved ? [] : ["as5", "as6"]))
        for task in 5...9 { schedule.remove(reference("a", "s", task)) }
        #expect(schedule.runningCount == 0)
    }

    // BG-19: without a copy of the queue for each, which would take more than the time limit
    @Test("the next of many transfers is found at once", .timeLimit(.minutes(1))) func nextOfMany() {
        var schedule = TransferSchedule()
        for task in 1...200_000 { schedule.enqueue(reference("a", "s", task), priority: 0.5) }
        var tasks: [Int] = []
        while tasks.count < 40_000, let next = schedule.next() {
            tasks.append(next.task)
            schedule.remove(next)
        }
        #expect(tasks == Array(1...40_000))
    }

    @Test("fifty applications, of which one has ten thousand transfers") func many() {
        var schedule = TransferSchedule()
        for task in 1...10_000 { schedule.enqueue(reference("big", "s", task), priority: 0.5) }
        for number in 1...50 { schedule.enqueue(reference("small\(number)", "s", 1), priority: 0.5) }
        var smallTurns = 0
        var turns = 0
        var running: [TransferReference] = []
        while smallTurns < 50, turns < 10_000 {
            while let next = schedule.next() {
                turns += 1
                if next.application != "big" { smallTurns += 1 }
                running.append(next)
            }
            if !running.isEmpty { schedule.remove(running.removeFirst()) }
        }
        #expect(smallTurns == 50)
        // The large one gets no more than its four places and its turns.
        #expect(turns <= 110)
    }
}
