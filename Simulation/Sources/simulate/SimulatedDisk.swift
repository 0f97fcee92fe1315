import CSimulation
import Foundation

/// What is wrong with the disk of a world, and with the table of descriptors, for some seconds.
struct SimulatedDisk {
    private enum Fault: CaseIterable {
        case full, readOnly, broken, hanging, noDescriptor

        var part: String {
            switch self {
            case .full: "disk is full"
            case .readOnly: "disk is read-only"
            case .broken: "disk is broken"
            case .hanging: "disk hangs"
            case .noDescriptor: "descriptors run out"
            }
        }
    }

    private let fault: Fault?
    /// Whether each call takes its time.
    let isSlow: Bool

    /// Whether a task that needs a file may fail. No other one may: the stores of the library do without a disk.
    var isFaultless: Bool { fault == nil }
    /// Any task may fail then, because it has no socket, or because it waits for the stores until its time is over.
    var disturbsEveryTask: Bool { fault == .noDescriptor || fault == .hanging }

    var hangs: Bool { fault == .hanging }

    /// Seconds.
    static let longestHang = 200.0

    init(mayFail: Bool = true) {
        let choices = Choices("disk")
        var disk = simulation_disk()
        isSlow = choices.oneIn(3) && Parts.has("disk is slow")
        if isSlow { disk.latency = 1000 + choices.seconds(0.02) }
        simulation_set_disk(disk)
        // Worlds with hanging disks have not been run often.
        let chosen = choices.pick(Fault.allCases.filter { $0 != .hanging || World.kind != .proven })
        guard choices.oneIn(3), mayFail, Parts.has(chosen.part) else {
            fault = nil
            return
        }
        fault = chosen
        let start = choices.oneIn(3) ? 0 : choices.seconds(3), isLong = chosen == .hanging && choices.oneIn(3)
        let duration = choices.seconds(isLong ? Self.longestHang : 20)
        switch chosen {
        case .full: disk.state = Int32(simulation_disk_full)
        case .readOnly: disk.state = Int32(simulation_disk_read_only)
        case .broken:
            disk.state = Int32(simulation_disk_broken)
            disk.calls_per_error = UInt32(1 + choices.below(20))
        case .hanging: disk.state = Int32(simulation_disk_hangs)
        case .noDescriptor: disk.has_no_descriptor = true
        }
        Self.schedule(disk, after: start)
        Self.schedule(simulation_disk(), after: start + duration)
    }

    private static func schedule(_ disk: simulation_disk, after delay: simulation_time) {
        let context = UnsafeMutablePointer<simulation_disk>.allocate(capacity: 1)
        context.initialize(to: disk)
        simulation_after(
            delay,
            {
                // The context is the one that is given below.
                let disk = $0!.assumingMemoryBound(to: simulation_disk.self)
                simulation_set_disk(disk.pointee)
                disk.deallocate()
            }, context)
    }

    // For what the world itself does with files, the disk works.

    static func content(of file: URL) -> Data {
        simulation_begin_undisturbed()
        defer { simulation_end_undisturbed() }
        return (try? Data(contentsOf: file)) ?? Data()
    }

    static func write(_ data: Data, to file: URL) {
        simulation_begin_undisturbed()
        defer { simulation_end_undisturbed() }
        Law.require((try? data.write(to: file)) != nil, "a file can be written")
    }
}
