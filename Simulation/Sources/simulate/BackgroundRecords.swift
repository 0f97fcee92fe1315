import CSimulation
import Foundation

/// What the program of a background session and the world have noted, in the order in which it happened. It survives
/// the processes, and is in a file that is not on the world's disk.
enum BackgroundRecords {
    enum Event: String {
        /// A life of the program, or of the service.
        case programBegins, programEnds, serviceBegins, serviceEnds
        /// The service has ended because it had nothing left to do.
        case serviceIsDone
        /// The program is about to make a task, and has resumed it.
        case making, resumed
        case cancelling
        /// A file, to a callback that has returned.
        case handedOver
        /// The end is being reported, and the callback has returned.
        case reporting, reported
        /// An end without an error.
        case succeeded
        /// The task is gone, because the power failed soon after it was made.
        case lost
        /// The program has nothing left to do.
        case done
        /// By the world.
        case killed, powerFailed, clockSet
    }

    struct Record {
        var event: Event
        /// Of the task; -1 for none.
        var number: Int
        var time: simulation_time
    }

    private static let file = SimulatedProcess.outside("background")

    static func note(_ event: Event, _ number: Int = -1) {
        let line = "\(event.rawValue) \(number) \(simulation_now())\n"
        simulation_note("program: \(event.rawValue) \(number)")
        simulation_begin_undisturbed()
        defer { simulation_end_undisturbed() }
        let descriptor = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        // One write, so that a process that is killed has noted it or not.
        let count = line.utf8CString.withUnsafeBufferPointer { write(descriptor, $0.baseAddress, $0.count - 1) }
        close(descriptor)
        Law.require(count == line.utf8.count, "a record can be noted")
    }

    /// Whether a power cut may have undone what the program did at that time. What a program and a service had some
    /// seconds for is on the disk.
    static func mayBeUndone(_ time: simulation_time, in records: [Record]) -> Bool {
        guard let cut = records.firstIndex(where: { $0.event == .powerFailed && $0.time >= time }) else { return false }
        return !haveRun(for: 20 * second, since: time, in: records[...cut])
    }

    /// Whether a program and a service have run together since then, for at least so long.
    static func haveRun(
        for duration: simulation_time, since time: simulation_time, in records: some Sequence<Record>
    ) -> Bool {
        var program: simulation_time?, service: simulation_time?
        for record in records {
            if let program, let service, record.time >= max(program, service, time) + duration { return true }
            switch record.event {
            case .programBegins: program = record.time
            case .programEnds: program = nil
            case .serviceBegins: service = record.time
            case .serviceEnds: service = nil
            default: break
            }
        }
        return false
    }

    static var all: [Record] {
        simulation_begin_undisturbed()
        defer { simulation_end_undisturbed() }
        let text = (try? String(contentsOfFile: file, encoding: .utf8)) ?? ""
        return text.split(separator: "\n").compactMap { line in
            let words = line.split(separator: " ").map(String.init)
            guard words.count == 3, let event = Event(rawValue: words[0]), let number = Int(words[1]),
                let time = simulation_time(words[2])
            else { return nil }
            return Record(event: event, number: number, time: time)
        }
    }
}
