import Foundation
import LoadingPipeline
import LoadingSemantics
import Testing

@testable import URLLoading

extension DelegateEventQueue {
    /// What a delivery takes.
    fileprivate mutating func next(_ extent: DeliveryExtent) -> (events: [TaskEvent], ending: TaskEnding?) {
        let events = take(extent)
        return (events, events.isEmpty ? takeEnding() : nil)
    }
}

@Suite struct DelegateEventQueueTests {
    private static func lengths(_ events: [TaskEvent]) -> [Int] {
        events.map { if case .data(let data) = $0 { data.count } else { -1 } }
    }

    @Test("Only the first event schedules a delivery") func schedulesOnce() {
        var lane = DelegateEventQueue()
        let mustSchedule = [
            lane.add(.waitingForConnectivity, bytes: 0), lane.add(.waitingForConnectivity, bytes: 0),
            lane.end(TaskEnding(error: nil, body: .nothing)).mustSchedule,
        ]
        #expect(mustSchedule == [true, false, false])
    }

    // T-65
    @Test("Reading stops at 512 KiB and resumes below 256 KiB") func stopsReading() {
        var lane = DelegateEventQueue()
        let piece = Data(count: 256 * 1024)
        _ = lane.add(.data(piece), bytes: piece.count)
        #expect(!lane.isReadingStopped)
        _ = lane.add(.data(piece), bytes: piece.count)
        #expect(lane.isReadingStopped)

        #expect(Self.lengths(lane.next(.all).events) == [piece.count, piece.count])
        // While these were delivered one more came, which was under way.
        _ = lane.add(.data(piece), bytes: piece.count)
        var batch = lane.tookBatch()
        #expect(batch.hasMore)
        #expect(!batch.mayRead)
        #expect(lane.isReadingStopped)

        _ = lane.next(.all)
        batch = lane.tookBatch()
        #expect(!batch.hasMore)
        #expect(batch.mayRead)
        #expect(!lane.isReadingStopped)
    }

    // RES-14
    @Test("Reports of an upload's progress do not pile up") func manyUploadReports() throws {
        let url = try #require(URL(string: "http://upload.test/"))
        func report(_ status: Int, _ offset: Int) throws -> TaskEvent {
            .informationalResponse(
                try #require(
                    HTTPURLResponse(
                        url: url, statusCode: status, httpVersion: nil, headerFields: ["Upload-Offset": "\(offset)"])))
        }
        var lane = DelegateEventQueue()
        for offset in 1...10_000 { _ = lane.add(try report(104, offset), bytes: 0) }
        _ = lane.add(try report(103, 0), bytes: 0)
        _ = lane.add(try report(104, 10_001), bytes: 0)
        func offsets(_ events: [TaskEvent]) -> [Int] {
            events.map { event -> Int in
                guard case .informationalResponse(let shown) = event else { return -1 }
                return shown.value(forHTTPHeaderField: "Upload-Offset").flatMap { Int($0) } ?? -2
            }
        }
        #expect(offsets(lane.next(.all).events) == Array(1...255) + [10_000, 0, 10_001])
        _ = lane.tookBatch()
        // The server reports each piece that was sent.
        for offset in 1...10_000 {
            _ = lane.add(.sentBody(count: 1, total: Int64(offset), expected: 10_000), bytes: 0)
            _ = lane.add(try report(104, offset), bytes: 0)
        }
        let batch = lane.next(.all).events
        #expect(batch.count <= 258)
        #expect(offsets(batch).last == 10_000 || offsets(batch).dropLast().last == 10_000)
        var sent: Int64 = 0
        for case .sentBody(let count, _, _) in batch { sent += count }
        #expect(sent == 10_000)
    }

    @Test("The end is delivered alone, after earlier events") func endComesLast() {
        var lane = DelegateEventQueue()
        _ = lane.add(.data(Data(count: 1)), bytes: 1)
        _ = lane.end(TaskEnding(error: .timedOut, body: .nothing))
        var taken = lane.next(.all)
        #expect(Self.lengths(taken.events) == [1])
        #expect(taken.ending == nil)
        let hasMore = lane.tookBatch().hasMore
        #expect(hasMore)
        taken = lane.next(.all)
        #expect(taken.events.isEmpty)
        #expect(taken.ending?.error == .timedOut)
    }

    // STREAM-2: the end was sealed while an answer was owed, which came before the end was delivered
    @Test("An answer after the end was sealed precedes it") func answerAfterSeal() {
        var lane = DelegateEventQueue()
        _ = lane.promise()
        _ = lane.add(.data(Data(count: 1)), bytes: 1)
        _ = lane.end(TaskEnding(error: .timedOut, body: .nothing))
        lane.seal()
        var taken = lane.next(.sealed)
        #expect(Self.lengths(taken.events) == [1])
        _ = lane.keepPromise(.call {})
        #expect(!lane.isEndDue)
        taken = lane.next(.sealed)
        #expect(taken.events.isEmpty && taken.ending == nil)
        let hasMore = lane.tookBatch().hasMore
        #expect(hasMore)

        lane.seal()
        taken = lane.next(.sealed)
        #expect(taken.events.count == 1)
        #expect(lane.isEndDue)
        taken = lane.next(.sealed)
        #expect(taken.ending?.error == .timedOut)
    }

    // S-76: an operation delivers what was there when it was enqueued
    @Test("Events after the seal wait for the next operation") func sealed() {
        var lane = DelegateEventQueue()
        _ = lane.add(.data(Data(count: 1)), bytes: 1)
        lane.seal()
        _ = lane.add(.data(Data(count: 2)), bytes: 2)
        _ = lane.end(TaskEnding(error: nil, body: .nothing))
        var taken = lane.next(.sealed)
        #expect(Self.lengths(taken.events) == [1])
        #expect(taken.ending == nil)
        #expect(lane.tookBatch().hasMore)
        #expect(!lane.isEndDue)
        #expect(lane.next(.sealed).ending == nil)
        lane.seal()
        taken = lane.next(.sealed)
        #expect(Self.lengths(taken.events) == [2])
        #expect(taken.ending == nil)
        #expect(lane.isEndDue)
        taken = lane.next(.sealed)
        #expect(taken.events.isEmpty)
        #expect(taken.ending != nil)
    }

    @Test("Cancelling drops sealed events, but not the end") func cancelAfterSeal() {
        var lane = DelegateEventQueue()
        _ = lane.add(.data(Data(count: 1)), bytes: 1)
        _ = lane.add(.answer(.call {}), bytes: 0)
        lane.seal()
        _ = lane.end(TaskEnding(error: .cancelled, body: .nothing))
        let taken = lane.next(.sealed)
        #expect(taken.events.map(\.isAnswer) == [true])
        #expect(taken.ending == nil)
        #expect(!lane.isEndDue)
    }

    // WS-6, STREAM-2
    @Test("The end waits for resumptions of `async` callers") func resumptions() {
        var lane = DelegateEventQueue()
        _ = lane.promise()
        _ = lane.promise()
        // The loop is notified once.
        let mustNotify = [lane.addResumption(.call {}), lane.addResumption(.call {})]
        #expect(mustNotify == [true, false])
        let isScheduled = lane.end(TaskEnding(error: nil, body: .nothing)).mustSchedule
        #expect(!isScheduled)
        let counts = [lane.takeResumptions().count, lane.takeResumptions().count]
        #expect(counts == [2, 0])
        let mustSchedule = [lane.resumed(1), lane.resumed(1)]
        #expect(mustSchedule == [false, true])
        let taken = lane.next(.all)
        #expect(taken.ending != nil)
    }

    // WS-6, STREAM-2
    @Test("Undelivered events come before a caller of an `async` method is resumed") func eventsBeforeResumptions() {
        var lane = DelegateEventQueue()
        _ = lane.promise()
        _ = lane.add(.readClosed, bytes: 0)
        let whileScheduled = lane.addResumption(.call {})
        _ = lane.next(.all)
        let whileDelivered = lane.addResumption(.call {})
        _ = lane.tookBatch()
        let afterwards = lane.addResumption(.call {})
        #expect([whileScheduled, whileDelivered, afterwards] == [nil, nil, true])
    }

    // T-7, WS-6
    @Test("After a fork the loop is notified of resumptions again") func resumptionsAfterFork() {
        var lane = DelegateEventQueue()
        _ = lane.promise()
        let before = lane.addResumption(.call {})
        lane.deliveryIsGone()
        let after = lane.addResumption(.call {})
        #expect([before, after] == [true, true])
    }

    // WS-6, STREAM-2
    @Test("The end, though scheduled, waits for callers of `async` methods") func resumptionBeforeEnd() {
        var lane = DelegateEventQueue()
        let isScheduled = lane.end(TaskEnding(error: nil, body: .nothing)).mustSchedule
        _ = lane.promise()
        let mustNotify = lane.addResumption(.call {})
        #expect(isScheduled && mustNotify == true)
        let early = lane.next(.all)
        let hasMore = lane.tookBatch().hasMore
        #expect(early.ending == nil && !hasMore)
        let count = lane.takeResumptions().count
        let mustSchedule = lane.resumed(count)
        #expect(mustSchedule)
        let taken = lane.next(.all)
        #expect(taken.ending != nil)
    }

    @Test("Cancelling drops waiting events") func cancelDropsWhatWaits() {
        var lane = DelegateEventQueue()
        _ = lane.add(.data(Data(count: 1)), bytes: 1)
        _ = lane.end(TaskEnding(error: .cancelled, body: .nothing))
        let taken = lane.next(.all)
        #expect(taken.events.isEmpty)
        #expect(taken.ending?.error == .cancelled)
    }
}
