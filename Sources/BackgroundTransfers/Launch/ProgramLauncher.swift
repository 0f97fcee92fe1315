internal import CLoadingLinux
internal import Glibc
internal import LoadingEvents
internal import LoadingStorage
package import LoadingTransport

/// Launches the programs of sessions (BG-11). Never blocks its loop, to which it is confined.
package final class ProgramLauncher {
    package enum Event: Equatable, Sendable {
        /// The program runs, or the unit or the name was started.
        case started
        /// After `started`: the command has ended. Units and names on the bus are not watched, so for them it comes at
        /// once: starting one that runs does nothing.
        case ended
        /// Instead of `started`.
        case failed(LaunchFailure)
    }

    /// The variable with the identifier of the session for which a program is launched.
    package static let identifierVariable = "URLSESSION_BACKGROUND_IDENTIFIER"

    private let loop: EventLoop
    private let environment: (String) -> String?
    /// Of launches that have no reply yet, by number.
    private var connections: [Int: BusClient] = [:]
    private var launchCount = 0

    /// - Parameter environment: Returns the value of an environment variable, to find the session bus.
    package init(
        on loop: EventLoop,
        environment: @escaping (String) -> String? = { name in cll_environment(name).map { String(cString: $0) } }
    ) {
        self.loop = loop
        self.environment = environment
    }

    /// - Parameters:
    ///   - identifier: The session's identifier, for the environment of a command and for the instance of a template
    ///     unit. Other units and names on the bus do not get it.
    ///   - event: Called on the loop, never from within this method.
    package func launch(_ method: LaunchMethod, identifier: String, event: @escaping (Event) -> Void) {
        switch method {
        case .command(let words): run(words, identifier, event)
        case .systemdUnit(let name):
            let call = BusCall(
                destination: "org.freedesktop.systemd1", path: "/org/freedesktop/systemd1",
                interface: "org.freedesktop.systemd1.Manager", method: "StartUnit",
                arguments: [.text(Self.unit(name, identifier)), .text("replace")])
            send(call, name, event)
        case .busName(let name): send(.toBus("StartServiceByName", .text(name), .uint32(0)), name, event)
        }
    }

    // MARK: Commands

    private func run(_ words: [String], _ identifier: String, _ event: @escaping (Event) -> Void) {
        let variable = "\(Self.identifierVariable)=\(identifier)"
        // The service's working directory is not the program's.
        guard let path = words.first, path.hasPrefix("/"),
            !(words + [variable]).contains(where: { $0.utf8.contains(0) })
        else { return notify(.failed(.invalidMethod), event) }
        let (loop, box) = (loop, LoopBox(event, on: loop))
        // The disk may be slow, and the end is waited for.
        let isStarted = DetachedThread.startIfPossible(named: "url-launch") {
            let result = Self.start(path, words, variable)
            guard result > 0 else {
                return loop.post { box.value(.failed(.program(path: path, -result))) }
            }
            loop.post { box.value(.started) }
            cll_wait_for(result)
            loop.post { box.value(.ended) }
        }
        if !isStarted { notify(.failed(.noResources), event) }
    }

    /// Returns the process identifier, or the negative errno.
    private static func start(_ path: String, _ words: [String], _ variable: String) -> pid_t {
        var copies: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
        defer { for copy in copies { free(copy) } }
        return copies.withUnsafeMutableBufferPointer { copies in
            copies.baseAddress.map { cll_launch(path, $0, variable) } ?? -EINVAL
        }
    }

    // MARK: Units

    /// `backup@.service` with the identifier as its instance, which the unit has as `%I`. The escapes are those of
    /// `systemd-escape`.
    static func unit(_ name: String, _ identifier: String) -> String {
        guard let at = name.firstRange(of: "@."), !identifier.isEmpty else { return name }
        var instance = ""
        for (index, byte) in identifier.utf8.enumerated() {
            switch byte {
            case UInt8(ascii: "/"): instance += "-"
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: ":"), UInt8(ascii: "_"):
                instance.unicodeScalars.append(Unicode.Scalar(byte))
            case UInt8(ascii: ".") where index > 0: instance += "."
            default:
                let digits = String(byte, radix: 16)
                instance += "\\x" + (digits.count == 1 ? "0" : "") + digits
            }
        }
        return name[..<at.lowerBound] + "@" + instance + name[name.index(after: at.lowerBound)...]
    }

    // MARK: The session bus

    private func send(_ call: BusCall, _ name: String, _ event: @escaping (Event) -> Void) {
        guard !name.isEmpty else { return notify(.failed(.invalidMethod), event) }
        guard let address = SessionBus.address(environment: environment) else {
            return notify(.failed(.noBus("There is no session bus on which a program could be launched.")), event)
        }
        launchCount += 1
        let number = launchCount
        // The end of the connection ends the call, too.
        let bus = BusClient(on: loop, address: address, signal: { _ in }, ended: { _ in })
        connections[number] = bus
        bus.call(call) { [self] result in
            connections.removeValue(forKey: number)?.close()
            switch result {
            case .success:
                event(.started)
                event(.ended)
            case .failure(let failure): event(.failed(LaunchFailure(failure)))
            }
        }
    }

    private func notify(_ value: Event, _ event: @escaping (Event) -> Void) {
        let box = LoopBox(event, on: loop)
        loop.post { box.value(value) }
    }
}

extension LaunchFailure {
    init(_ failure: BusFailure) {
        self =
            switch failure {
            case .libraryMissing(let name):
                .noBus("The library \(name), through which the session bus is used, is missing.")
            case .busMissing(let address): .noBus("There is no session bus at \(address ?? "an allowed address").")
            case .connectionLost: .noReply
            case .refused(let name): .refused(name)
            case .invalidArgument: .invalidMethod
            case .noResources: .noResources
            }
    }
}
