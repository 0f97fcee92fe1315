import CSimulation
import Foundation
import URLLoading

/// A background session, its program and the service, each in a process of its own, and what happens to these.
final class BackgroundWork: @unchecked Sendable {
    // Sendable because of the lock.
    /// The one of the world, also in the processes that are forked from it.
    nonisolated(unsafe) private static var current: BackgroundWork?
    private let world: World
    private let plan: BackgroundPlan
    private let choices = Choices("kills")
    private let lock = NSCondition()
    private var killsLeft: Int
    private var isDone = false
    /// The service that runs got SIGTERM.
    private var isTerminated = false

    init(in world: World) {
        self.world = world
        plan = BackgroundPlan(in: world)
        let kills = 1 + choices.below(BackgroundPlan.isLong ? 8 : 4)
        killsLeft = plan.hasKills ? kills : 0
        Self.current = self
    }

    func run() {
        simulation_begin_processes(
            {
                // Set before the process of the program is forked.
                BackgroundProgram(BackgroundWork.current!.plan).run()
            },
            {
                BackgroundRecords.note(.serviceBegins)
            },
            { role, reason in BackgroundWork.current?.hasEnded(role, reason) })
        begin()
        lock.withLock { while !isDone { lock.wait() } }
        // Nothing happens to processes any more.
        simulation_kill_after(0, 0)
        simulation_cut_power_after(0)
        waitForService()
        // One that was killed last has not cleaned up.
        if simulation_start_service() { waitForService() }
        checkEnd()
    }

    // MARK: processes begin and end

    private func begin() {
        // The service may have launched it.
        guard simulation_running() & Int32(simulation_program) == 0 else { return }
        simulation_start_program()
        scheduleKill()
    }

    private func scheduleKill() {
        guard killsLeft > 0 else { return }
        killsLeft -= 1
        let all = Int32(simulation_program | simulation_service)
        let roles = choices.pick([all, all, Int32(simulation_program), Int32(simulation_service)])
        switch choices.below(4) {
        case 0: simulation_cut_power_after(UInt64(1 + choices.size(upTo: 400)))
        case 1:
            Later.after(choices.seconds(choices.pick([0.1, 3, 100, 10_000]))) { [self] in
                guard !lock.withLock({ isDone }) else { return }
                switch choices.below(3) {
                case 0: terminateService()
                case 1: Self.cutPower()
                default: simulation_kill(roles)
                }
                scheduleKill()
            }
        default: simulation_kill_after(roles, UInt64(1 + choices.size(upTo: 60_000)))
        }
    }

    private func terminateService() {
        lock.withLock { isTerminated = simulation_running() & Int32(simulation_service) != 0 }
        simulation_signal_service(SIGTERM)
    }

    /// After what happens to processes, for how long nothing runs.
    private var mostHours: Double { BackgroundPlan.isLong ? 30 : 3 }

    private static func cutPower() {
        guard current?.lock.withLock({ current?.isDone }) == false else { return }
        // Else it is noted when the processes have ended.
        if simulation_running() == 0 { BackgroundRecords.note(.powerFailed) }
        simulation_cut_power()
    }

    private func hasEnded(_ role: Int32, _ reason: Int32) {
        if role == Int32(simulation_second_program) { return }
        let isProgram = role == Int32(simulation_program)
        lock.lock()
        defer { lock.unlock() }
        BackgroundRecords.note(isProgram ? .programEnds : .serviceEnds)
        if !isProgram {
            if reason == 0, !isTerminated { BackgroundRecords.note(.serviceIsDone) }
            isTerminated = false
        }
        if reason == Int32(simulation_was_killed) { BackgroundRecords.note(.killed) }
        if reason == Int32(simulation_power_failed) { BackgroundRecords.note(.powerFailed) }
        if !isProgram {
            // Else with the next life of the program.
            if reason == Int32(simulation_was_killed), simulation_running() != 0 { scheduleKill() }
            return lock.broadcast()
        }
        if reason >= 0 {
            isDone = true
            return lock.broadcast()
        }
        let delay = choices.oneIn(2) ? choices.seconds(choices.oneIn(2) ? mostHours * 3600 : 100) : 0
        let serviceDelay = choices.oneIn(3) ? choices.seconds(100) : nil
        if let serviceDelay, serviceDelay < delay { Later.after(serviceDelay) { _ = simulation_start_service() } }
        // The service may have gone on alone.
        if delay > 0, choices.oneIn(3), plan.hasKills { Later.after(delay / 2) { Self.cutPower() } }
        Later.after(delay) { BackgroundWork.current?.begin() }
    }

    // MARK: the end

    private func waitForService() {
        let end = simulation_now() + 120 * second
        while simulation_running() != 0, simulation_now() < end { sleep(1) }
        Law.require(simulation_running() == 0, "a service that has nothing to do ends")
    }

    private func checkEnd() {
        sleep(60)
        Law.require(simulation_open_sockets() == 0, "a session that is invalid has no connection")
        let records = BackgroundRecords.all
        let hasPowerFailed = records.contains { $0.event == .powerFailed }
        let wasKilled = hasPowerFailed || records.contains { $0.event == .killed }
        let state = SimulatedProcess.disk + "/.local/state/swift-url-loading/background"
        simulation_begin_undisturbed()
        let files = (try? FileManager.default.contentsOfDirectory(atPath: state + "/files")) ?? []
        let uploads = (try? FileManager.default.contentsOfDirectory(atPath: state + "/uploads")) ?? []
        let journal = try? FileManager.default.attributesOfItem(atPath: state + "/journal")[.size] as? Int
        simulation_end_undisturbed()
        // One whose removal a power cut has undone is removed later too.
        Law.require(files.isEmpty || hasPowerFailed, "no file of a transfer is left: \(files)")
        // Those of a task that was not made are removed later.
        Law.require(uploads.isEmpty || wasKilled, "no copy of an upload is left: \(uploads)")
        Law.require(journal ?? 0 < 1 << 18, "the journal stays small: \(journal ?? 0)")
        for item in plan.items {
            guard let delay = item.delay, let path = item.request.url?.path, let arrival = item.server?.arrivals[path],
                let made = records.first(where: { $0.event == .making && $0.number == item.number })
            else { continue }
            // A date by the clock as it is.
            let isSet = records.contains { $0.event == .clockSet && (made.time...arrival).contains($0.time) }
            Law.require(isSet || arrival >= made.time + delay - second / 1000, "task \(item.number) begins at its date")
        }
        let succeeded = Set(records.filter { $0.event == .succeeded }.map(\.number))
        for item in plan.items where item.kind == .upload && succeeded.contains(item.number) {
            let stored = item.server?.stored[item.number] ?? 0
            Law.require(
                stored == item.size, "upload \(item.number) has reached the server whole: \(stored) of \(item.size)")
        }
    }
}
