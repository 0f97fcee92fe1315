import CSimulation
import Foundation
import URLLoading

/// What the program of a background session does in all of its lives.
struct BackgroundPlan {
    enum Kind { case download, upload }

    struct Item {
        var number: Int
        var kind: Kind
        var request: URLRequest
        var size: Int
        /// Whether a host that it may reach has faults.
        var mayFail: Bool
        /// How long the program waits before it makes the task.
        var pause: simulation_time
        /// How long after the task was resumed it is cancelled; nil for never.
        var cancellation: simulation_time?
        var isSuspended: Bool
        /// How long after the task was made it may begin; nil for at once.
        var delay: simulation_time?
        /// The one that the first request goes to.
        var server: OriginServer?
    }

    static let identifier = "background"
    let items: [Item]
    let isDiscretionary: Bool
    /// Whether processes end before their time.
    let hasKills: Bool
    let resourceTimeout: TimeInterval
    let proxy: ProxyServer?
    /// Whether the service launches the program when there are events for it.
    let isLaunched: Bool
    /// How long after a callback has returned it may not be noted yet: as long as one write takes.
    let timeToAcknowledge: simulation_time

    /// Whether the world has a background session, and nothing else.
    static var isWanted: Bool { isLong || Choices("background").oneIn(5) && World.kind == nil }
    /// Whether it lasts for days.
    static var isLong: Bool { World.kind == .week || Choices("week").oneIn(1000) && World.kind == nil }

    /// When everything has ended. Of the lives of the program, at most fourteen end before their time
    /// (`BackgroundWork`, and `strike`), and nothing runs for up to 30 hours after each; a task that is made in the
    /// last one has seven days.
    static var limit: simulation_time { (isLong ? 25 : 9) * 86400 * second }

    init(in world: World) {
        let choices = Choices("background session")
        isDiscretionary = choices.oneIn(4)
        hasKills = !choices.oneIn(3) && Parts.has("processes are killed")
        resourceTimeout = Self.isLong ? 7 * 86400 : choices.pick([1800, 2 * 3600])
        proxy = world.proxy
        isLaunched = Choices("launches").oneIn(2) && Parts.has("program is launched")
        // Other threads may go on first.
        timeToAcknowledge = world.disk.isSlow ? second / 15 : second / 500
        items = (0..<1 + choices.below(8)).compactMap { number in
            Parts.has("task \(number)") ? Self.item(number, in: world) : nil
        }
    }

    /// The clock of the machine is set, each time up to a day forward or back. Tasks may begin earlier or later then,
    /// but nothing else may notice it.
    static func setClock(_ choices: Choices) {
        for index in 0..<1 + (choices.oneIn(3) ? choices.below(4) : 0) {
            let date = choices.seconds(choices.pick([3, 100, 2000, isLong ? 5 * 86400 : 3]))
            Later.after(date) {
                let choices = Choices("jump \(index) of the wall clock")
                BackgroundRecords.note(.clockSet)
                simulation_set_wall_clock((choices.oneIn(2) ? 1 : -1) * choices.seconds(86400))
            }
        }
    }

    /// Now and then something ends soon after what the program has just noted: some calls later, in the midst of what
    /// follows from it.
    func strike(after event: BackgroundRecords.Event, _ number: Int, life: Int) {
        let choices = Choices("strike after \(event.rawValue) \(number) in life \(life)")
        guard choices.oneIn(5), hasKills, life < 6 else { return }
        let all = Int32(simulation_program | simulation_service)
        switch choices.below(4) {
        case 0: simulation_cut_power_after(UInt64(1 + choices.below(100)))
        case 1: simulation_kill_after(Int32(simulation_service), UInt64(1 + choices.below(600)))
        default: simulation_kill_after(all, UInt64(1 + choices.below(600)))
        }
    }

    private static func item(_ number: Int, in world: World) -> Item? {
        let choices = Choices("background task \(number)")
        let target = choices.pick(world.hosts)
        guard let server = target.server else { return nil }
        let kind = choices.pick([Kind.download, .download, .upload])
        let hops = choices.oneIn(5) ? 1 + choices.below(3) : 0
        let size = choices.size(upTo: choices.oneIn(4) && target.isWide ? 2_000_000 : 300_000),
            scheme = choices.oneIn(2) ? "https" : "http"
        let resource = choices.pick(["content", "large", "large", "basic"])
        let path: String
        switch kind {
        case .upload: path = "store/\(number)"
        case .download: path = hops > 0 ? "passed/\(hops)/\(number)/\(size)" : "\(resource)/\(number)/\(size)"
        }
        // The host and the path have no character that a URL cannot have.
        var request = URLRequest(url: URL(string: "\(scheme)://\(target.name)/\(path)")!)
        if kind == .upload { request.httpMethod = choices.pick(["PUT", "POST"]) }
        var item = Item(
            number: number, kind: kind, request: request, size: size,
            mayFail: kind == .download && hops > 0 ? !world.isFaultless : !target.isFaultless,
            pause: choices.oneIn(3) ? choices.seconds(choices.oneIn(4) ? 100 : 1) : 0, isSuspended: false,
            server: server)
        let isCancelled = choices.oneIn(8), cancellation = choices.seconds(2)
        if isCancelled, Parts.has("task \(number) is cancelled") { item.cancellation = cancellation }
        let isSuspended = choices.oneIn(6)
        item.isSuspended = isSuspended && Parts.has("task \(number) is suspended")
        let isDelayed = choices.oneIn(isLong ? 2 : 8), delay = choices.seconds(isLong ? 4 * 86400 : 1000)
        if isDelayed, Parts.has("task \(number) begins later") { item.delay = delay }
        return item
    }
}
