import Foundation
import LoadingPipeline
import LoadingSemantics
import Testing

@testable import URLLoading

@Suite struct TaskLaneTests {
    private static func lengths(_ events: [TaskEvent]) -> [Int] {
        events.map { if case .data(let data) = $0 { data.count } else { -1 } }
    }

    @Test("Only the first of what waits schedules a delivery") func schedulesOnce() {
        var lane = TaskLane()
        let mustSchedule = [
            lane.add(.waitingForConnectivity, bytes: 0), lane.add(.waitingForConnectivity, bytes: 0),
            lane.end(TaskEnding(error: nil, body: .nothing)).mustSchedule,
        ]
        #expect(mustSchedule == [true, false, false])
    }

    // T-65
    @Test("Reading stops at half a megabyte and goes on when less than half of that waits") func stopsReading() {
        var lane = TaskLane()
        let piece = Data(count: 256 * 1024)
        _ = lane.add(.data(piece), bytes: piece.count)
        #expect(!lane.isReadingStopped)
        _ = lane.add(.data(piece), bytes: piece.count)
        #expect(lane.isReadingStopped)

        #expect(Self.lengths(lane.take().events) == [piece.count, piece.count])
        // While these were told one more came, which was under way.
        _ = lane.add(.data(piece), bytes: piece.count)
        var told = lane.tookBatch()
        #expect(told.goesOn)
        #expect(!told.mayRead)
        #expect(lane.isReadingStopped)

        _ = lane.take()
        told = lane.tookBatch()
        #expect(!told.goesOn)
        #expect(told.mayRead)
        #expect(!lane.isReadingStopped)
    }

    @Test("The end comes after what waits before it, and alone") func endComesLast() {
        var lane = TaskLane()
        _ = lane.add(.data(Data(count: 1)), bytes: 1)
        _ = lane.end(TaskEnding(error: .timedOut, body: .nothing))
        var taken = lane.take()
        #expect(Self.lengths(taken.events) == [1])
        #expect(taken.ending == nil)
        let goesOn = lane.tookBatch().goesOn
        #expect(goesOn)
        taken = lane.take()
        #expect(taken.events.isEmpty)
        #expect(taken.ending?.error == .timedOut)
    }

    @Test("Who cancels hears nothing of what still waits") func cancelDropsWhatWaits() {
        var lane = TaskLane()
        _ = lane.add(.data(Data(count: 1)), bytes: 1)
        _ = lane.end(TaskEnding(error: .cancelled, body: .nothing))
        let taken = lane.take()
        #expect(taken.events.isEmpty)
        #expect(taken.ending?.error == .cancelled)
    }
}
