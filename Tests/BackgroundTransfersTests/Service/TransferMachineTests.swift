import Foundation
import LoadingPipeline
import Testing

@testable import BackgroundTransfers

/// The life of a background transfer, input by input.
struct TransferMachineTests {
    private static let url = "http://example.com/file"

    private static func record(_ change: (inout TransferRecord) -> Void = { _ in }) -> TransferRecord {
        var request = TransferRequest(url: url, folder: "/files")
        request.identifier = 1
        var record = TransferRecord(
            application: "app", session: "s",
            description: TransferDescription(task: 1, kind: .download, request: request))
        change(&record)
        return record
    }

    private static func machine(
        isConditionMet: Bool = true, _ change: (inout TransferRecord) -> Void = { _ in }
    ) -> TransferMachine {
        TransferMachine(record(change), isConditionMet: isConditionMet)
    }

    /// A machine whose load runs since time 10.
    private static func running(_ change: (inout TransferRecord) -> Void = { _ in }) -> TransferMachine {
        var machine = machine(change)
        _ = machine.handle(.resume, now: 10)
        _ = machine.handle(.place, now: 10)
        return machine
    }

    private static func part(_ count: Int64) throws -> TransferResumption {
        let json = """
            {"path": "/files/part", "originalURL": "\(url)", "url": "\(url)", "fields": [], "entityTag": "\\"1\\"", \
            "bytesReceived": \(count)}
            """
        return .download(try JSONDecoder().decode(TransferResumption.Download.self, from: Data(json.utf8)))
    }

    private static func lost(_ jitter: Double = 0, _ resumption: TransferResumption? = nil) -> TransferMachine.Input {
        .failed(TransferFailure(code: -1005), resumption, jitter: jitter)
    }

    private static func progress(_ received: Int64) -> TransferProgress {
        var progress = TransferProgress()
        progress.received = received
        return progress
    }

    // BG-10: the clock of a machine without a battery is decades behind until it is set from the network
    @Test("the clock is set", arguments: [1e9, -1e9]) func clockSet(by change: Double) {
        let before = MachineClock(boot: "this", offset: 5), after = MachineClock(boot: "this", offset: 5 + change)
        var record = Self.record { $0.description.resourceTimeout = 100 }
        _ = record.follow(before)
        var machine = TransferMachine(record, isConditionMet: true)
        _ = machine.handle(.resume, now: 10)
        #expect(machine.wakeUp == 110)
        #expect(machine.handle(.clockSet(after, by: change), now: 20 + change) == [.save])
        #expect(machine.wakeUp == 110 + change && machine.record.started == 10 + change)
        _ = machine.handle(.place, now: 30 + change)
        #expect(machine.handle(.clockSet(before, by: -change), now: 40) == [.save])
        #expect(machine.record.started == 10 && machine.phase == .running)
        // The next attempt.
        _ = machine.handle(Self.lost(), now: 50)
        let retry = machine.wakeUp
        #expect(machine.phase == .waiting(.retry) && retry.map { 50 < $0 && $0 < 110 } == true)
        #expect(machine.handle(.clockSet(after, by: change), now: 50 + change) == [.save])
        #expect(machine.phase == .waiting(.retry) && machine.wakeUp == retry.map { $0 + change })
        #expect(machine.handle(.timePassed, now: 109 + change) == [.enqueue])
        #expect(machine.handle(.timePassed, now: 110 + change).last == .end(.failed(TransferFailure(code: -1001), nil)))
    }

    // BG-17: a date of the program is one by the clock as it is
    @Test("the clock is set while a task waits for its date") func clockSetBeforeADate() {
        let clocks = [0.0, 500, -500].map { MachineClock(boot: "this", offset: $0) }
        var machine = Self.machine { $0.description.request.earliestBegin = 100 }
        _ = machine.handle(.resume, now: 10)
        #expect(machine.phase == .waiting(.date) && machine.wakeUp == 100)
        #expect(machine.handle(.clockSet(clocks[2], by: -500), now: -490) == [])
        #expect(machine.phase == .waiting(.date) && machine.wakeUp == 100)
        #expect(machine.handle(.clockSet(clocks[1], by: 1000), now: 510).contains(.enqueue))
        #expect(machine.phase == .queued)
    }

    // BG-17: the date has come, and what the delegate answers counts
    @Test("the clock is set back while a delegate decides") func clockSetBackBeforeADecision() throws {
        var machine = Self.machine {
            $0.description.request.earliestBegin = 100
            $0.description.asksWhenDue = true
        }
        _ = machine.handle(.resume, now: 10)
        #expect(machine.handle(.timePassed, now: 100) == [.due])
        #expect(machine.handle(.clockSet(MachineClock(boot: "this", offset: -50), by: -50), now: 51) == [])
        #expect(machine.phase == .waiting(.decision))
        #expect(machine.handle(.decide(nil), now: 52) == [.save, .enqueue])
        // Another date is another one to wait for.
        var other = Self.machine {
            $0.description.request.earliestBegin = 100
            $0.description.asksWhenDue = true
        }
        _ = other.handle(.resume, now: 100)
        #expect(other.handle(.setEarliestBegin(200), now: 101) == [.save] && other.phase == .waiting(.date))
    }

    // T-1, BG-19
    @Test("from creation to a file") func finished() {
        var machine = Self.machine()
        #expect(machine.phase == .suspended)
        #expect(machine.handle(.timePassed, now: 1) == [])
        #expect(machine.handle(.resume, now: 2) == [.save, .enqueue])
        #expect(machine.record.started == 2)
        #expect(machine.handle(.resume, now: 3) == [])
        #expect(machine.handle(.place, now: 4) == [.start(machine.record.description.request)])
        #expect(machine.phase == .running)
        #expect(machine.handle(.place, now: 4) == [])
        #expect(machine.handle(.finished(file: "/files/a"), now: 5) == [.leaveSchedule, .end(.file("/files/a"))])
        #expect(machine.phase == .ended)
        machine.update {
            $0.end = TransferEnd(order: 1, head: nil, progress: $0.progress, outcome: .file("/files/a"), metrics: nil)
        }
        for input in [TransferMachine.Input.resume, .suspend, .place, .timePassed, Self.lost()] {
            #expect(machine.handle(input, now: 6) == [])
        }
    }

    // RES-1, BG-5: a download from resume data, which counts until an attempt has shown something else
    @Test("cancelled, and attempted, where another task has stopped") func beganAfterAnother() throws {
        var request = TransferRequest(url: Self.url, folder: "/files")
        request.resumption = try Self.part(7)
        let description = TransferDescription(task: 1, kind: .download, request: request)
        let record = TransferRecord(new: description, application: "app", session: "s", boot: "this")
        #expect(record.boot == "this" && record.syncedBytes == 7)
        var machine = TransferMachine(record, isConditionMet: true)
        #expect(
            machine.handle(.cancel(reason: nil), now: 1)
                == [.end(.failed(TransferFailure(code: -999), try Self.part(7)))])
        machine = TransferMachine(record, isConditionMet: true)
        _ = machine.handle(.resume, now: 1)
        #expect(machine.handle(.place, now: 2) == [.start(request)])
        #expect(machine.record.history?.last == TransferEvent(.began(offset: 7), at: 2))
        // The server has another version, of which nothing has arrived.
        #expect(machine.handle(Self.lost(), now: 3) == [.leaveSchedule, .save])
        #expect(machine.handle(.timePassed, now: 1000) == [.enqueue])
        request.resumption = nil
        #expect(machine.handle(.place, now: 1000) == [.restarted(TransferProgress()), .start(request)])
    }

    // BG-8: the delay doubles without progress, and begins anew with progress
    @Test("transient errors are tried again") func retries() {
        var machine = Self.running()
        var now = 10.0
        var delays: [Double] = []
        for _ in 0..<12 {
            #expect(machine.handle(Self.lost(), now: now) == [.leaveSchedule, .save])
            #expect(machine.phase == .waiting(.retry))
            let wakeUp = machine.wakeUp ?? .nan
            delays.append(wakeUp - now)
            #expect(machine.handle(.timePassed, now: wakeUp - 0.5) == [])
            #expect(machine.handle(.timePassed, now: wakeUp) == [.enqueue])
            now = wakeUp
            #expect(machine.handle(.place, now: now).last == .start(machine.record.description.request))
        }
        #expect(delays == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 600, 600])
        #expect(machine.handle(.progress(Self.progress(5)), now: now) == [])
        _ = machine.handle(Self.lost(1), now: now)
        #expect(machine.wakeUp == now + 1.25)
        // The same five bytes are no progress.
        _ = machine.handle(.timePassed, now: now + 2)
        _ = machine.handle(.place, now: now + 2)
        _ = machine.handle(.progress(Self.progress(5)), now: now + 2)
        _ = machine.handle(Self.lost(), now: now + 2)
        #expect(machine.wakeUp == now + 4)
    }

    // BG-8, S-96: by Range if that is possible, with the counters of what is kept
    @Test("a repeated download continues its part") func resumed() throws {
        var machine = Self.running()
        let part = try Self.part(100)
        #expect(machine.handle(.checkpoint(part), now: 11) == [.save])
        #expect(machine.handle(.checkpoint(part), now: 11) == [])
        _ = machine.handle(.progress(Self.progress(120)), now: 11)
        let stopped = try Self.part(120)
        _ = machine.handle(Self.lost(0, stopped), now: 12)
        _ = machine.handle(.timePassed, now: 14)
        var request = machine.record.description.request
        request.resumption = stopped
        #expect(machine.handle(.place, now: 14) == [.restarted(Self.progress(120)), .start(request)])
        // What cannot be resumed starts at 0.
        _ = machine.handle(Self.lost(), now: 15)
        _ = machine.handle(.timePassed, now: 20)
        #expect(
            machine.handle(.place, now: 20) == [
                .restarted(TransferProgress()), .start(machine.record.description.request),
            ])
    }

    // BG-8, ERR-1: errors that another attempt cannot mend, and BG-10: the time is over
    @Test("final errors", arguments: [-1002, -1100, -1202, -1205, -3003, -1017, -1007]) func final(code: Int) {
        var machine = Self.running()
        let failure = TransferFailure(code: code)
        #expect(
            machine.handle(.failed(failure, nil, jitter: 0), now: 11) == [.leaveSchedule, .end(.failed(failure, nil))])
    }

    // BG-10
    @Test("the resource timeout, in each phase") func timeout() {
        let change: (inout TransferRecord) -> Void = { $0.description.resourceTimeout = 100 }
        let end: TransferMachine.Action = .end(.failed(TransferFailure(code: -1001), nil))
        var queued = Self.machine(change)
        _ = queued.handle(.resume, now: 10)
        #expect(queued.wakeUp == 110)
        #expect(queued.handle(.timePassed, now: 109) == [])
        #expect(queued.handle(.timePassed, now: 110) == [.leaveSchedule, end])
        // A place that comes too late.
        var late = Self.machine(change)
        _ = late.handle(.resume, now: 10)
        #expect(late.handle(.place, now: 111) == [.leaveSchedule, end])
        // The load gets what is left, and its timeout is final then.
        var running = Self.machine(change)
        _ = running.handle(.resume, now: 10)
        var request = running.record.description.request
        request.totalTimeout = 90
        #expect(running.handle(.place, now: 20) == [.start(request)])
        #expect(running.wakeUp == nil)
        #expect(
            running.handle(.failed(TransferFailure(code: -1001), nil, jitter: 0), now: 110) == [.leaveSchedule, end])
        // A timeout of a request before is transient.
        var retrying = Self.running(change)
        _ = retrying.handle(.failed(TransferFailure(code: -1001), nil, jitter: 0), now: 108)
        #expect(retrying.wakeUp == 109)
        _ = retrying.handle(.timePassed, now: 109)
        _ = retrying.handle(.place, now: 109)
        _ = retrying.handle(Self.lost(), now: 109.5)
        #expect(retrying.wakeUp == 110)
        #expect(retrying.handle(.timePassed, now: 110) == [end])
    }

    // BG-17, T-18
    @Test("an earliest date, and the delegate's decision") func delayed() {
        var plain = Self.machine { $0.description.request.earliestBegin = 50 }
        #expect(plain.handle(.resume, now: 10) == [.save])
        #expect(plain.phase == .waiting(.date))
        #expect(plain.wakeUp == 50)
        #expect(plain.handle(.timePassed, now: 50) == [.enqueue])

        var asking = Self.machine {
            $0.description.request.earliestBegin = 50
            $0.description.asksWhenDue = true
        }
        _ = asking.handle(.resume, now: 10)
        #expect(asking.handle(.timePassed, now: 50) == [.due])
        #expect(asking.handle(.timePassed, now: 51) == [])
        var other = TransferRequest(url: "http://example.com/other", folder: "/files")
        other.identifier = 1
        #expect(asking.handle(.decide(other), now: 52) == [.save, .enqueue])
        #expect(asking.handle(.place, now: 53) == [.start(other)])
        // Asked once, also if an attempt fails.
        _ = asking.handle(Self.lost(), now: 54)
        #expect(asking.handle(.timePassed, now: 60) == [.enqueue])

        // A decision that comes while it is suspended counts, and nothing is asked twice.
        var suspended = Self.machine {
            $0.description.request.earliestBegin = 50
            $0.description.asksWhenDue = true
        }
        _ = suspended.handle(.resume, now: 10)
        #expect(suspended.handle(.decide(other), now: 20) == [])
        #expect(suspended.handle(.timePassed, now: 50) == [.due])
        _ = suspended.handle(.pause, now: 51)
        #expect(suspended.handle(.decide(other), now: 52) == [.save])
        #expect(suspended.handle(.decide(nil), now: 52) == [])
        #expect(suspended.handle(.unpause, now: 53) == [.save, .enqueue])
        #expect(suspended.handle(.place, now: 54) == [.start(other)])

        // A decision that was not requested is ignored.
        var unasked = Self.machine()
        #expect(unasked.handle(.decide(other), now: 1) == [])

        // An earlier date begins at once; a later one takes it out of the queue.
        var moved = Self.machine()
        _ = moved.handle(.resume, now: 10)
        #expect(moved.handle(.setEarliestBegin(50), now: 11) == [.save, .leaveSchedule])
        #expect(moved.handle(.setEarliestBegin(5), now: 12) == [.save, .enqueue])
    }

    // BG-17, T-53: an upload sends its file, whatever the request has
    @Test("another request has another body", arguments: [.download, .upload] as [TransferDescription.Kind])
    func anotherBody(kind: TransferDescription.Kind) {
        for body in ["/uploads/other", nil] {
            var machine = Self.machine {
                $0.description.kind = kind
                $0.description.asksWhenDue = true
                $0.description.request.earliestBegin = 5
                $0.description.request.bodyFile = "/uploads/body"
            }
            _ = machine.handle(.resume, now: 10)
            var sent = TransferRequest(url: "http://example.com/other", folder: "")
            (sent.bodyFile, sent.archive) = (body, Data("archive".utf8))
            let isReplaced = kind == .download
            let dropped: [TransferMachine.Action] = isReplaced ? [.dropFile("/uploads/body")] : []
            #expect(machine.handle(.decide(sent), now: 11) == [.save] + dropped + [.enqueue])
            #expect(machine.record.description.request.bodyFile == (isReplaced ? body : "/uploads/body"))
            #expect(machine.record.description.request.archive == sent.archive)
            // No command that comes twice removes what is needed.
            #expect(machine.handle(.decide(sent), now: 12) == [])
        }
    }

    // BG-17: of a program with an earlier version of the library, which does not send the body
    @Test("another request keeps the files of its task") func anotherRequest() throws {
        let part = try Self.part(7)
        var machine = Self.machine {
            $0.description.asksWhenDue = true
            $0.description.request.earliestBegin = 5
            $0.description.request.bodyFile = "/uploads/body"
            $0.resumption = part
        }
        #expect(machine.handle(.resume, now: 10) == [.save, .due])
        // As a program sends it: without anything that only the service knows.
        var sent = TransferRequest(url: "http://example.com/other", folder: "")
        sent.isUpload = false
        #expect(machine.handle(.decide(sent), now: 11) == [.save, .enqueue])
        var expected = TransferRequest(url: "http://example.com/other", folder: "/files")
        expected.identifier = 1
        expected.bodyFile = "/uploads/body"
        #expect(machine.record.description.request == expected)
        expected.resumption = part
        #expect(machine.handle(.place, now: 12) == [.start(expected)])
    }

    // BG-16, BG-23
    @Test("a discretionary transfer") func discretionary() throws {
        var machine = Self.machine(isConditionMet: false) { $0.description.request.isDiscretionary = true }
        #expect(machine.handle(.resume, now: 1) == [.save])
        #expect(machine.phase == .waiting(.condition))
        #expect(machine.wakeUp == nil)
        #expect(machine.handle(.conditionChanged(isMet: true), now: 2) == [.enqueue])
        #expect(machine.handle(.conditionChanged(isMet: false), now: 2) == [.leaveSchedule])
        _ = machine.handle(.conditionChanged(isMet: true), now: 3)
        _ = machine.handle(.place, now: 3)
        // The load stops, and continues later.
        #expect(machine.handle(.conditionChanged(isMet: false), now: 4) == [.stop])
        let part = try Self.part(7)
        #expect(
            machine.handle(.failed(TransferFailure(code: -999), part, jitter: 0), now: 5) == [.leaveSchedule, .save])
        #expect(machine.phase == .waiting(.condition))
        #expect(machine.handle(.conditionChanged(isMet: true), now: 6) == [.enqueue])
        #expect(machine.record.failures == 0)
        #expect(machine.record.resumption == part)
    }

    // T-2, T-3, T-4
    @Test("suspending in each phase") func suspended() throws {
        var queued = Self.machine()
        _ = queued.handle(.resume, now: 1)
        #expect(queued.handle(.suspend, now: 2) == [.save, .leaveSchedule])
        #expect(queued.phase == .suspended)

        var running = Self.running()
        #expect(running.handle(.suspend, now: 2) == [.save, .stop])
        #expect(running.handle(.suspend, now: 2) == [])
        #expect(running.handle(.timePassed, now: 2) == [])
        let part = try Self.part(7)
        #expect(
            running.handle(.failed(TransferFailure(code: -999), part, jitter: 0), now: 3) == [.leaveSchedule, .save])
        #expect(running.phase == .suspended)
        var request = running.record.description.request
        request.resumption = part
        #expect(running.handle(.resume, now: 4) == [.save, .enqueue])
        #expect(running.handle(.place, now: 5) == [.start(request)])

        // Resumed before the load has stopped.
        var back = Self.running()
        _ = back.handle(.suspend, now: 2)
        #expect(back.handle(.resume, now: 2) == [.save])
        #expect(
            back.handle(.failed(TransferFailure(code: -999), nil, jitter: 0), now: 3) == [
                .leaveSchedule, .save, .enqueue,
            ])

        // A load that was faster.
        var done = Self.running()
        _ = done.handle(.suspend, now: 2)
        #expect(done.handle(.finished(file: "/f"), now: 3) == [.leaveSchedule, .end(.file("/f"))])

        // Its file is being written to disk: the end comes, unless another process has to load it again.
        #expect(done.handle(.resume, now: 4) == [.save])
        #expect(done.handle(.suspend, now: 5) == [.save])
        #expect(done.handle(.pause, now: 5) == [.save])
        #expect(done.handle(.timePassed, now: 5) == [] && done.phase == .ended && done.wakeUp == nil)
        var restarted = TransferMachine(done.record, isConditionMet: true)
        #expect(restarted.handle(.timePassed, now: 6) == [])
        #expect(restarted.handle(.unpause, now: 7) == [.save] && restarted.phase == .suspended)
        #expect(restarted.handle(.resume, now: 8) == [.save, .enqueue])

        var waiting = Self.running()
        _ = waiting.handle(Self.lost(), now: 11)
        #expect(waiting.handle(.suspend, now: 11) == [.save])
        #expect(waiting.wakeUp == nil)
        #expect(waiting.handle(.resume, now: 20) == [.save, .enqueue])
    }

    // BG-13
    @Test("a pause is apart from the program's own suspension") func paused() {
        var machine = Self.machine()
        _ = machine.handle(.resume, now: 1)
        #expect(machine.handle(.pause, now: 2) == [.save, .leaveSchedule])
        #expect(machine.handle(.pause, now: 2) == [])
        #expect(machine.handle(.suspend, now: 3) == [.save])
        #expect(machine.handle(.unpause, now: 4) == [.save])
        #expect(machine.phase == .suspended)
        #expect(machine.handle(.resume, now: 5) == [.save, .enqueue])
    }

    // T-6, BG-13, BG-14, RES-12
    @Test("cancelling in each phase") func cancelled() throws {
        let end: TransferMachine.Action = .end(.failed(TransferFailure(code: -999), nil))
        var new = Self.machine()
        #expect(new.handle(.cancel(reason: nil), now: 1) == [end])

        var queued = Self.machine()
        _ = queued.handle(.resume, now: 1)
        #expect(queued.handle(.cancel(reason: nil), now: 1) == [.leaveSchedule, end])

        var running = Self.running()
        #expect(running.handle(.cancel(reason: nil), now: 1) == [.save, .stop])
        #expect(running.handle(.cancel(reason: 0), now: 1) == [])
        let part = try Self.part(7)
        #expect(
            running.handle(.failed(TransferFailure(code: -999), part, jitter: 0), now: 2)
                == [.leaveSchedule, .end(.failed(TransferFailure(code: -999), part))])

        // The file was complete when the load was to stop: the task is cancelled all the same, and leaves no file.
        var done = Self.running()
        _ = done.handle(.cancel(reason: nil), now: 1)
        #expect(done.handle(.finished(file: "/f"), now: 2) == [.leaveSchedule, .removeFile("/f"), end])

        var stopping = Self.running()
        _ = stopping.handle(.suspend, now: 1)
        #expect(stopping.handle(.cancel(reason: 1), now: 1) == [.save])
        #expect(
            stopping.handle(.failed(TransferFailure(code: -999), part, jitter: 0), now: 2)
                == [.leaveSchedule, .end(.cancelledBySystem(reason: 1))])

        // The service cannot keep it: the first reason counts.
        let full = TransferFailure(code: -3003)
        var failing = Self.running()
        #expect(failing.handle(.fail(full), now: 1) == [.save, .stop])
        #expect(failing.handle(.cancel(reason: nil), now: 1) == [])
        #expect(
            failing.handle(.failed(TransferFailure(code: -999), part, jitter: 0), now: 2)
                == [.leaveSchedule, .end(.failed(full, part))])
        #expect(failing.handle(.fail(full), now: 3) == [])
        var unwritten = Self.machine()
        #expect(unwritten.handle(.fail(full), now: 1) == [.end(.failed(full, nil))])

        var retrying = Self.running()
        _ = retrying.handle(Self.lost(0, part), now: 11)
        #expect(
            retrying.handle(.cancel(reason: nil), now: 11) == [.end(.failed(TransferFailure(code: -999), part))])
    }

    // S-95: a changed network is a reason to try again at once
    @Test("a changed network") func network() {
        var machine = Self.running()
        #expect(machine.handle(.networkChanged, now: 10) == [])
        _ = machine.handle(Self.lost(), now: 11)
        #expect(machine.handle(.networkChanged, now: 11) == [.enqueue])
    }

    // BG-6: whatever the phase was, the record alone says how the next process goes on
    @Test("restored from the journal") func restored() {
        var running = Self.running()
        _ = running.handle(.progress(Self.progress(3)), now: 11)
        var restored = TransferMachine(running.record, isConditionMet: true)
        #expect(restored.handle(.timePassed, now: 12) == [.enqueue])
        var suspended = TransferMachine(Self.record(), isConditionMet: true)
        #expect(suspended.handle(.timePassed, now: 12) == [])
        // Cancelled, but killed before the load had stopped.
        for reason in [nil, 0, 1] {
            var stopping = Self.running()
            _ = stopping.handle(.cancel(reason: reason), now: 11)
            var cancelled = TransferMachine(stopping.record, isConditionMet: true)
            let outcome = reason.map { TransferEnd.Outcome.cancelledBySystem(reason: $0) }
            #expect(
                cancelled.handle(.timePassed, now: 12)
                    == [.end(outcome ?? .failed(TransferFailure(code: -999), nil))])
        }
        // Or before its file was on the disk.
        var finished = Self.running()
        _ = finished.handle(.finished(file: "/f"), now: 11)
        #expect(finished.handle(.cancel(reason: nil), now: 12) == [.save])
        var cancelled = TransferMachine(finished.record, isConditionMet: true)
        #expect(cancelled.handle(.timePassed, now: 13) == [.end(.failed(TransferFailure(code: -999), nil))])
        let end = TransferEnd(order: 1, head: nil, progress: TransferProgress(), outcome: .file("/f"), metrics: nil)
        var ended = TransferMachine(Self.record { $0.end = end }, isConditionMet: true)
        #expect(ended.phase == .ended)
        #expect(ended.handle(.timePassed, now: 12) == [])
    }

    /// Every phase with every input: a load is started and stopped at most once at a time, a place is taken and given
    /// up in turn, and there is one end.
    // BG-6, T-6
    @Test("random inputs keep the machine's invariants", arguments: 0..<200) func random(seed: Int) throws {
        var generator = SplitMix(state: UInt64(seed))
        var machine = Self.machine {
            $0.description.request.isDiscretionary = seed % 3 == 0
            $0.description.resourceTimeout = seed % 2 == 0 ? 500 : nil
            $0.description.asksWhenDue = seed % 5 == 0
        }
        let part = try Self.part(7)
        var (hasLoad, isScheduled, ends, now) = (false, false, 0, 0.0)
        for _ in 0..<300 {
            now += Double.random(in: 0...10, using: &generator)
            let inputs: [TransferMachine.Input] = [
                .resume, .suspend, .pause, .unpause, .resume, .unpause, .timePassed, .timePassed, .place, .place,
                .conditionChanged(isMet: Bool.random(using: &generator)), .networkChanged, .decide(nil),
                .setEarliestBegin(now + Double.random(in: -5...5, using: &generator)), .progress(Self.progress(9)),
                .checkpoint(part),
                Bool.random(using: &generator) ? Self.lost(0.5, part) : Self.lost(0.5),
                generator.next() % 40 == 0 ? .cancel(reason: nil) : .timePassed,
                generator.next() % 20 == 0 ? .finished(file: "/f") : .timePassed,
            ]
            let input = inputs[Int(generator.next() % UInt64(inputs.count))]
            switch input {
            case .finished, .failed:
                if !hasLoad { continue }
                hasLoad = false
            case .place where !isScheduled || hasLoad: continue
            default: break
            }
            for action in machine.handle(input, now: now) {
                switch action {
                case .enqueue:
                    #expect(!isScheduled)
                    isScheduled = true
                case .leaveSchedule:
                    #expect(isScheduled)
                    isScheduled = false
                case .start:
                    #expect(isScheduled && !hasLoad)
                    hasLoad = true
                case .stop: #expect(hasLoad && machine.phase == .stopping)
                case .end: ends += 1
                case .removeFile: #expect(machine.phase == .ended)
                case .save, .restarted, .due, .dropFile: break
                }
            }
            #expect(isScheduled == (machine.phase == .queued || hasLoad))
            #expect(hasLoad == (machine.phase == .running || machine.phase == .stopping))
            #expect(ends == (machine.phase == .ended ? 1 : 0))
        }
    }
}

private struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }
}
