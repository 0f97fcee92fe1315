/// The cookies of the request that goes out: asked for once for each fetch, and again when a redirect or a challenge has
/// led to another.
struct CookieStage {
    private enum State {
        case unknown
        case asked
        /// The field's value, if there are cookies.
        case known(String?)
    }

    private var state = State.unknown

    /// Another request is fetched.
    mutating func begin() { state = .unknown }

    /// Whether the cookies are known, or become known in this call. Else the answer is on its way.
    mutating func isReady(asking ask: () -> CookieAnswer) -> Bool {
        switch state {
        case .known: return true
        case .asked: return false
        case .unknown:
            state = .asked
            guard case .now(let field) = ask() else { return false }
            state = .known(field)
            return true
        }
    }

    /// Takes the answer. False if nobody waits for it.
    mutating func take(_ field: String?) -> Bool {
        guard case .asked = state else { return false }
        state = .known(field)
        return true
    }

    var field: String? { if case .known(let field) = state { field } else { nil } }
}
