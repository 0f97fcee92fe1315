internal import LoadingPipeline
internal import LoadingSemantics

extension HSTSStore {
    /// That of the shared session, and of all whose configuration is not ephemeral. It lasts.
    static let shared: HSTSStore = {
        let store = HSTSStore(suffixes: .system)
        HSTSCopy.shared.follow(store)
        return store
    }()

    /// One that nobody else knows.
    convenience init() { self.init(suffixes: .system) }
}
