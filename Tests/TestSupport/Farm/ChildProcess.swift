package import Foundation

/// A child process that is ended when this object is released or this process ends.
package final class ChildProcess: Sendable {
    package enum Exit: Sendable, Equatable {
        case code(Int32)
        case signal(Int32)
    }

    private struct State {
        var processID: pid_t?
        var spawnFailure: POSIXFailure?
        var exit: Exit?
    }

    private let name: String
    private let leadsGroup: Bool
    private let state = Watched(State())
    private let waitThread: JoinableThread
    private let isJoined = Watched(false)

    /// Starts the program; its output and errors go to the file. Inherited descriptors arrive under the numbers of
    /// `inheriting`; the environment is this process's own, changed by `environment`.
    ///
    /// - Parameter leadsGroup: Whether it can be ended with the processes that it starts.
    package init(
        _ executable: String, _ arguments: [String], environment: [String: String] = [:],
        inheriting descriptors: [Int32: Int32] = [:], leadsGroup: Bool = false, output: URL? = nil
    ) throws {
        name = executable
        self.leadsGroup = leadsGroup
        let environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        let state = state
        // The parent-death signal is bound to the spawning thread, so that thread lives until the child has ended.
        waitThread = try JoinableThread(name: "test-child") {
            Self.spawnAndReap(
                executable, arguments, environment: environment, descriptors: descriptors, leadsGroup: leadsGroup,
                output: output?.path ?? "/dev/null", state: state)
        }
        do {
            try state.wait(for: "\(executable) to start") { state in
                if let failure = state.spawnFailure { throw failure }
                return state.processID
            }
        } catch {
            waitThread.join()
            isJoined.withValue { $0 = true }
            throw error
        }
    }

    deinit {
        end()
    }

    package var processID: Int32 { state.current.processID ?? 0 }
    /// Nil while it runs.
    package var exit: Exit? { state.current.exit }

    package func send(_ signal: Int32) {
        state.withValue { state in
            // The child is reaped under the same lock, so the process id cannot have been reused.
            if let processID = state.processID, state.exit == nil { kill(processID, signal) }
        }
    }

    @discardableResult
    package func waitForExit(within deadline: Duration = .testDeadline) throws -> Exit {
        try state.wait(for: "the end of \(name)", within: deadline) { $0.exit }
    }

    /// Ends it with SIGTERM, then with SIGKILL if necessary, and reaps it.
    package func end() {
        let isFirst = isJoined.withValue { isJoined in
            defer { isJoined = true }
            return !isJoined
        }
        guard isFirst else { return }
        send(SIGTERM)
        if (try? waitForExit(within: .seconds(5))) == nil { send(SIGKILL) }
        waitThread.join()
    }

    /// Kills it and the processes of its group.
    package func endAbruptly() {
        state.withValue { state in
            // Reaped under the same lock, as above.
            if let processID = state.processID, state.exit == nil { kill(leadsGroup ? -processID : processID, SIGKILL) }
        }
        end()
    }

    /// Runs a program to its end and returns its output.
    package static func run(
        _ executable: String, _ arguments: [String], environment: [String: String] = [:],
        within deadline: Duration = .testDeadline
    ) throws -> (exit: Exit, output: String) {
        let directory = try TemporaryDirectory()
        let output = directory.file("output")
        let process = try ChildProcess(executable, arguments, environment: environment, output: output)
        defer { process.end() }
        let exit = try process.waitForExit(within: deadline)
        return (exit, String(decoding: (try? Data(contentsOf: output)) ?? Data(), as: UTF8.self))
    }

    // MARK: The spawning thread

    private static func spawnAndReap(
        _ executable: String, _ arguments: [String], environment: [String: String], descriptors: [Int32: Int32],
        leadsGroup: Bool, output: String, state: Watched<State>
    ) {
        let setpriv = "/usr/bin/setpriv"
        let isTied = access(setpriv, X_OK) == 0
        let program = isTied ? setpriv : executable
        let words = (isTied ? [setpriv, "--pdeathsig", "TERM", "--"] : []) + [executable] + arguments

        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(&actions, 1, output, O_WRONLY | O_CREAT | O_APPEND, 0o600)
        posix_spawn_file_actions_adddup2(&actions, 1, 2)
        for (number, descriptor) in descriptors {
            posix_spawn_file_actions_adddup2(&actions, descriptor, number)
        }

        // Dispatch threads block signals. A child would inherit the mask and never receive SIGTERM.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        sigfillset(&signals)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        // The group id is the child's process id.
        posix_spawnattr_setpgroup(&attributes, 0)
        posix_spawnattr_setflags(
            &attributes,
            Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | (leadsGroup ? POSIX_SPAWN_SETPGROUP : 0)))

        var processID: pid_t = 0
        let code = withCStrings(words) { words in
            withCStrings(environment.map { "\($0)=\($1)" }) { environment in
                posix_spawn(&processID, program, &actions, &attributes, words, environment)
            }
        }
        guard code == 0 else {
            state.withValue { $0.spawnFailure = POSIXFailure("posix_spawn \(executable)", code: code) }
            return
        }
        state.withValue { $0.processID = processID }
        var information = siginfo_t()
        while waitid(P_PID, id_t(processID), &information, WEXITED | WNOWAIT) != 0, errno == EINTR {}
        state.withValue { state in
            var status: Int32 = 0
            waitpid(processID, &status, 0)
            let signal = status & 0x7F
            state.exit = signal == 0 ? .code((status >> 8) & 0xFF) : .signal(signal)
        }
    }

    private static func withCStrings<Result>(
        _ strings: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> Result
    ) -> Result {
        let pointers = strings.map { strdup($0) }
        defer { for pointer in pointers { free(pointer) } }
        return body(pointers + [nil])
    }
}
