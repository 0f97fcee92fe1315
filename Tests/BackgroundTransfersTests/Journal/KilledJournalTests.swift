import BackgroundTransfers
import Foundation
import JournalSteps
import TestSupport
import Testing

/// A process is killed at each change that it makes to the disk. Confirmed changes survive; the one in progress is
/// there as a whole or not at all.
@Suite(.leakChecked) struct KilledJournalTests {
    // BG-5
    @Test("killed at each change", arguments: ["whole", "torn"]) func killed(_ write: String) throws {
        var change = 0
        while true {
            change += 1
            let directory = try TemporaryDirectory()
            let (exit, done) = try JournalWriterProcess.run(["kill"], in: directory.path, last: ["\(change)", write])
            let steps = JournalSteps(in: directory.path)
            let contents = try steps.contents().get()
            let expected = (done...min(done + 1, JournalSteps.count)).map {
                JournalSteps.contents(after: $0, in: directory.path)
            }
            #expect(expected.contains(contents), "killed at change \(change), after \(done) steps")
            // It goes on.
            let reached = contents == expected[0] ? done : done + 1
            if reached < JournalSteps.count {
                #expect(steps.perform(reached), "killed at change \(change)")
                #expect(try steps.contents().get() == JournalSteps.contents(after: reached + 1, in: directory.path))
            }
            if exit == .signal(SIGKILL) { continue }
            #expect(exit == .code(0))
            #expect(done == JournalSteps.count)
            break
        }
        // At least one change per step; fewer mean that no process was killed.
        #expect(change > JournalSteps.count)
    }
}
