/// Terminal colours, or none.
package struct TextStyle: Equatable, Sendable {
    package enum Color: String, Sendable {
        case bold = "1"
        case dim = "2"
        case red = "31"
        case green = "32"
        case yellow = "33"
        case blue = "34"
        case magenta = "35"
        case cyan = "36"
        case boldBlue = "1;34"
        case boldRed = "1;31"
        case boldGreen = "1;32"
        case boldYellow = "1;33"
    }

    package var isColored: Bool

    package init(isColored: Bool) {
        self.isColored = isColored
    }

    package init(_ choice: CommandLineRequest.ColorChoice, isTerminal: Bool, terminal: Terminal) {
        switch choice {
        case .always: isColored = true
        case .never: isColored = false
        case .auto: isColored = isTerminal && terminal.allowsColor
        }
    }

    package func apply(_ color: Color, _ text: String) -> String {
        isColored && !text.isEmpty ? start(color) + text + end : text
    }

    func start(_ color: Color) -> String { isColored ? "\u{1B}[\(color.rawValue)m" : "" }

    var end: String { isColored ? "\u{1B}[0m" : "" }
}
