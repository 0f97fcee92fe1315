import Foundation
import LoadingSemantics
import LoadingStorage
import StorageSteps
import TestSupport
import Testing

/// A process is killed at each change that it makes to the disk: each write (half of it done, for cookies and
/// responses), each file created, truncated, renamed and removed. Confirmed changes survive; the one in progress may or
/// may not.
///
/// This covers the end of a process. For the end of the whole system see `PowerFailureTests`.
@Suite(.leakChecked) struct KilledProcessTests {
    private func check<Steps: StorageSteps>(_ kind: StorageKind, _ steps: Steps.Type, isTorn: Bool) throws {
        var change = 0
        var ended = 0
        while true {
            change += 1
            let directory = try TemporaryDirectory()
            let path = directory.path
            let (exit, done) = try StorageWriterProcess.steps(kind, in: path, killedAt: change, isTorn: isTorn)
            let state = Steps(in: StorageDirectory(path: path)).state()
            let expected = (done...min(done + 1, Steps.count)).map { Steps.state(after: $0) }
            #expect(expected.contains(state), "killed at change \(change), after \(done) steps")
            // The store continues to work.
            let reached = state == Steps.state(after: done) ? done : done + 1
            if reached < Steps.count {
                let steps = Steps(in: StorageDirectory(path: path))
                #expect(steps.perform(reached), "killed at change \(change)")
                #expect(steps.state() == Steps.state(after: reached + 1), "killed at change \(change)")
            }
            if exit == .signal(SIGKILL) {
                ended += 1
                continue
            }
            #expect(exit == .code(0))
            #expect(done == Steps.count)
            break
        }
        // At least one change per step; fewer mean that no process was killed.
        #expect(ended >= Steps.count)
    }

    @Test("cookies") func cookies() throws { try check(.cookies, RecordSteps<Cookie>.self, isTorn: true) }

    @Test("hosts") func hosts() throws { try check(.hosts, RecordSteps<HSTSRecord>.self, isTorn: false) }

    // CONN-8
    @Test("alternatives") func alternatives() throws {
        try check(.alternatives, RecordSteps<AlternativeServicesRecord>.self, isTorn: false)
    }

    @Test("credentials") func credentials() throws {
        try check(.credentials, RecordSteps<PersistentCredential>.self, isTorn: false)
    }

    @Test("responses") func responses() throws { try check(.responses, ResponseSteps.self, isTorn: true) }
}
