internal import CLoadingPublicSuffixes
internal import LoadingSemantics

extension PublicSuffixes {
    /// The system's list; without one, top-level domains only.
    static let system = PublicSuffixes { domain in domain.withCString { clp_is_public_suffix($0) } }
}
