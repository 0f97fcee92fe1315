#if canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Properties of the standard streams and the locale.
package struct Terminal: Equatable, Sendable {
    package var outputIsTerminal: Bool
    package var errorIsTerminal: Bool
    package var columns: Int
    package var isUTF8: Bool
    /// False if `NO_COLOR` is set or `TERM` is `dumb`.
    package var allowsColor: Bool
    /// Whether what is drawn can be replaced. False if `TERM` is `dumb`.
    package var movesCursor: Bool

    package init(
        outputIsTerminal: Bool = false, errorIsTerminal: Bool = false, columns: Int = 80, isUTF8: Bool = true,
        allowsColor: Bool = true, movesCursor: Bool = true
    ) {
        self.outputIsTerminal = outputIsTerminal
        self.errorIsTerminal = errorIsTerminal
        self.columns = columns
        self.isUTF8 = isUTF8
        self.allowsColor = allowsColor
        self.movesCursor = movesCursor
    }

    package static func current() -> Terminal {
        let noColor = environment("NO_COLOR").map { !$0.isEmpty } ?? false
        let kind = environment("TERM") ?? ""
        return Terminal(
            outputIsTerminal: isatty(STDOUT_FILENO) == 1,
            errorIsTerminal: isatty(STDERR_FILENO) == 1,
            columns: columns(),
            isUTF8: isUTF8(
                all: environment("LC_ALL"), characters: environment("LC_CTYPE"), language: environment("LANG")),
            allowsColor: !noColor && kind != "dumb",
            movesCursor: kind != "dumb")
    }

    /// Whether progress can be drawn on standard error.
    var showsProgress: Bool { errorIsTerminal && movesCursor }

    /// The first of the three variables that is set decides, as in `setlocale`.
    package static func isUTF8(all: String?, characters: String?, language: String?) -> Bool {
        let locale = [all, characters, language].compactMap { $0 }.first { !$0.isEmpty } ?? ""
        let name = locale.lowercased()
        return name.hasSuffix("utf-8") || name.hasSuffix("utf8") || name.contains(".utf-8@") || name.contains(".utf8@")
    }

    private static func environment(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }
    }

    /// The size of the terminal that is standard error, now. Nil if it is none, or has no size.
    static func sizeOfErrorTerminal() -> (rows: Int, columns: Int)? {
        var size = winsize()
        guard ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_row > 0, size.ws_col > 0 else { return nil }
        return (Int(size.ws_row), Int(size.ws_col))
    }

    private static func columns() -> Int {
        var size = winsize()
        for descriptor in [STDERR_FILENO, STDOUT_FILENO]
        where ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0 {
            return Int(size.ws_col)
        }
        return environment("COLUMNS").flatMap { Int($0) } ?? 80
    }
}
