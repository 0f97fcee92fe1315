/// What stands in a command line, found without judging it.
enum ArgumentPiece: Equatable {
    /// The index of an argument that is not a switch.
    case word(Int)
    /// The value of a switch: the index of its argument, and where it begins there, in bytes.
    case value(CommandOption, Int, offset: Int)

    static func pieces(of arguments: [String]) -> [ArgumentPiece] {
        var pieces: [ArgumentPiece] = []
        var rest = arguments.indices[...]
        func addNext(_ option: CommandOption) {
            if let index = rest.popFirst() { pieces.append(.value(option, index, offset: 0)) }
        }
        while let index = rest.popFirst() {
            let argument = arguments[index]
            if argument == "--" { return pieces + rest.map(ArgumentPiece.word) }
            if argument.hasPrefix("--") {
                let name = argument.dropFirst(2).prefix { $0 != "=" }
                guard let option = CommandOption(long: String(name)), option.takesValue else { continue }
                if name.endIndex < argument.endIndex {
                    pieces.append(.value(option, index, offset: 3 + name.utf8.count))
                } else {
                    addNext(option)
                }
            } else if argument.hasPrefix("-"), argument != "-" {
                var letters = argument.dropFirst()
                while let letter = letters.popFirst() {
                    guard let option = CommandOption(short: letter), option.takesValue else { continue }
                    if letters.isEmpty {
                        addNext(option)
                    } else {
                        pieces.append(.value(option, index, offset: argument.utf8.count - letters.utf8.count))
                    }
                    break
                }
            } else {
                pieces.append(.word(index))
            }
        }
        return pieces
    }
}
