internal import LoadingPipeline
internal import LoadingSemantics

extension HSTSStore {
    /// That of the shared session, and of all whose configuration is not ephemeral.
    static let shared = HSTSStore(suffixes: .system)

    /// One that nobody else knows.
    convenience init() { self.init(suffixes: .system) }
}
