#if canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Reads a password from the controlling terminal (`/dev/tty`) with echo off, even if the standard streams are
/// redirected.
enum PasswordPrompt {
    /// Nil if there is no terminal.
    static func ask(for user: String) -> String? {
        let terminal = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)
        guard terminal >= 0 else { return nil }
        defer { close(terminal) }
        var shown = termios()
        guard tcgetattr(terminal, &shown) == 0 else { return nil }
        var hidden = shown
        hidden.c_lflag &= ~tcflag_t(ECHO)
        // Without ISIG, Ctrl-C and Ctrl-Z cannot end or stop the process while echo is off.
        hidden.c_lflag &= ~tcflag_t(ISIG)
        guard tcsetattr(terminal, TCSAFLUSH, &hidden) == 0 else { return nil }
        defer { _ = tcsetattr(terminal, TCSAFLUSH, &shown) }
        show("Password of \(TextSanitizer.clean(user)): ", on: terminal)
        defer { show("\n", on: terminal) }
        return readLine(from: terminal)
    }

    private static func show(_ text: String, on terminal: Int32) {
        let bytes = Array(text.utf8)
        _ = bytes.withUnsafeBytes { write(terminal, $0.baseAddress, $0.count) }
    }

    /// Nil for Ctrl-C (byte 3) and at the end of input.
    private static func readLine(from terminal: Int32) -> String? {
        var line: [UInt8] = []
        var byte: UInt8 = 0
        while true {
            let count = read(terminal, &byte, 1)
            if count < 0, errno == EINTR { continue }
            guard count == 1, byte != 3 else { return nil }
            if byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r") { break }
            line.append(byte)
        }
        return String(decoding: line, as: UTF8.self)
    }
}
