import CSimulation

/// The parts of a world that can be left out: hosts, tasks, and what goes wrong. Each has a name that says which it is.
enum Parts {
    /// If this is set, all others are left out.
    nonisolated(unsafe) static var only: Set<String>?
    static let mark = "part: "

    /// The trace has the name, from which the program knows what it can leave out.
    static func has(_ part: String) -> Bool {
        simulation_note(mark + part)
        return only?.contains(part) ?? true
    }
}
