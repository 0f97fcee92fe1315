internal import CLoadingPublicSuffixes
internal import LoadingSemantics

extension RegistrySuffixes {
    /// By the system's Public Suffix List, if there is one. To read it takes files and a library, the first time; an
    /// evaluation of trust reads files anyway, and no loop waits for it.
    static let system = RegistrySuffixes { domain in
        switch domain.withCString({ clp_registry_suffix($0) }) {
        case CLP_IS_SUFFIX: true
        case CLP_IS_NO_SUFFIX: false
        default: nil
        }
    }
}
