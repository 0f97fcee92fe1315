internal import LoadingPipeline
internal import LoadingSemantics

extension HSTSStore {
    /// The persistent store of the shared session and of all sessions whose configuration is not ephemeral.
    static let shared: HSTSStore = {
        let store = HSTSStore(suffixes: .system)
        HSTSCopy.shared.follow(store)
        return store
    }()

    /// A store in memory, for one ephemeral configuration.
    convenience init() { self.init(suffixes: .system) }
}
