/// The numbers of requests that servers accept on a connection, learned from earlier connections (CONN-4). Bounded.
struct RequestLimits<Limit> {
    private var limits: [ConnectionKey: Limit] = [:]

    /// Nil if nothing is known of the server of an origin, or if it accepts more than expected.
    subscript(key: ConnectionKey) -> Limit? {
        get { limits.isEmpty ? nil : limits[key] }
        set {
            if newValue != nil, limits.count >= ConnectionPool.mostServers { limits = [:] }
            limits[key] = newValue
        }
    }
}
