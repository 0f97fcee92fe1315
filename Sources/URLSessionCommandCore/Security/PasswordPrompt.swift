#if canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Reads a password from the controlling terminal (`/dev/tty`) with echo off, even if the standard streams are
/// redirected.
enum PasswordPrompt {
    /// SIGINT, with which the terminal answers Ctrl-C, and SIGTERM end the process with the exit codes of a load.
    static func ask(for user: String) throws(UsageError) -> String {
        let terminal = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)
        guard terminal >= 0 else { throw noTerminal }
        defer { close(terminal) }
        // Only read once it is filled, by the handler of signals too.
        nonisolated(unsafe) var shown = termios()
        guard tcgetattr(terminal, &shown) == 0 else { throw noTerminal }
        var hidden = shown
        hidden.c_lflag &= ~tcflag_t(ECHO)
        // Ctrl-\ and Ctrl-Z would end or stop the process while echo is off.
        withUnsafeMutableBytes(of: &hidden.c_cc) { keys in
            for key in [VQUIT, VSUSP] { keys[Int(key)] = 0 }
        }
        let interruption = Interruption { code in
            _ = tcsetattr(terminal, TCSANOW, &shown)
            show("\n", on: terminal)
            _exit(code.rawValue)
        }
        defer { interruption.end() }
        guard tcsetattr(terminal, TCSAFLUSH, &hidden) == 0 else { throw noTerminal }
        defer { _ = tcsetattr(terminal, TCSAFLUSH, &shown) }
        show("Password of \(TextSanitizer.clean(user)): ", on: terminal)
        defer { show("\n", on: terminal) }
        guard let password = readLine(from: terminal) else {
            throw UsageError("no password was entered for \(TextSanitizer.clean(user))")
        }
        return password
    }

    /// Asks once for each name, before any load begins: several loads and their retries need the same password, and
    /// loads in parallel cannot ask at once.
    static func complete(
        _ requests: inout [CommandLineRequest], _ ask: (String) throws(UsageError) -> String
    ) throws(UsageError) {
        var completed: [String: String] = [:]
        for index in requests.indices {
            guard let user = requests[index].user else { continue }
            if completed[user] == nil { completed[user] = try requests[index].userWithPassword(ask) }
            requests[index].user = completed[user]
        }
    }

    private static var noTerminal: UsageError {
        UsageError("there is no terminal to ask for the password on: use --user NAME:PASSWORD")
    }

    private static func show(_ text: String, on terminal: Int32) {
        let bytes = Array(text.utf8)
        _ = bytes.withUnsafeBytes { write(terminal, $0.baseAddress, $0.count) }
    }

    /// Nil at the end of input (Ctrl-D).
    private static func readLine(from terminal: Int32) -> String? {
        var line: [UInt8] = []
        var byte: UInt8 = 0
        while true {
            let count = read(terminal, &byte, 1)
            if count < 0, errno == EINTR { continue }
            guard count == 1 else { return nil }
            if byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r") { break }
            line.append(byte)
        }
        return String(decoding: line, as: UTF8.self)
    }
}

extension CommandLineRequest {
    /// The user with the password, which is asked for if there is only a name.
    func userWithPassword(_ ask: (String) throws(UsageError) -> String) throws(UsageError) -> String? {
        guard let user, !user.isEmpty, !user.contains(":") else { return user }
        return user + ":" + (try ask(user))
    }
}
