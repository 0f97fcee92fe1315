/// A credential that a load was given to answer a challenge.
struct GivenCredential {
    let credential: URLCredential
    /// Whether the storage has it, or had it.
    let isStored: Bool
    /// How often something had been removed from the storage by then.
    let removalsBefore: Int
}
