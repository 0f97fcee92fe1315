internal import CLoadingPublicSuffixes
internal import LoadingEvents
internal import LoadingSemantics

extension PublicSuffixes {
    /// The system's list; without one, top-level domains only.
    static let system = PublicSuffixes { domain in domain.withCString { clp_is_public_suffix($0) } }

    /// Has a thread read the system's list, the first time. Whoever asks the list before that is done waits for the rest;
    /// so it is begun when a request goes out whose response may set cookies.
    static let readingSystem: Void = { _ = DetachedThread.startIfPossible(named: "url-suffixes") { clp_read() } }()

    /// Whether the system's list has been read.
    static var isSystemRead: Bool { clp_is_read() }
}
