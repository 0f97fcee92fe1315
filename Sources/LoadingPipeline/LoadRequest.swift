package import LoadingSemantics
package import LoadingTransport

/// What a load is asked to fetch: the engine's own form of a URLRequest, with the session's defaults already in it.
package struct LoadRequest {
    package var url: HTTPURL
    /// The URL as it was given: what redirects are relative to.
    package var urlText: String
    package var method: String
    /// The caller's fields, those of the configuration among them; what the loader adds itself is not here.
    package var fields: HTTPFields
    package var body: LoadBody
    /// Seconds of silence before the load fails (C-6).
    package var idleTimeout: Double
    /// Seconds from start to end before the load fails (C-8); infinite for none.
    package var totalTimeout: Double
    package var waitsForConnectivity: Bool
    package var cachePolicy = CachePolicy.useProtocolCachePolicy
    /// The jar of its own that it uses for cookies and for what is stored, or nil for the common one (COOK-24).
    package var partition: String?
    /// Whether HTTP/3 is tried though nothing says that the server speaks it (CONN-7).
    package var assumesHTTP3 = false
    /// Whether it may go out before a server that is known has answered, where it is safe to send it again (C-32).
    package var allowsEarlyData = false
    /// What its connection wants of the network (C-9, C-20, C-29).
    package var service = NetworkService.ordinary
    /// 0 to 1. Requests that wait for a connection are ordered by it.
    package var priority: Float
    /// The user in the URL of the redirect that led here.
    var redirectedUser: (user: String, password: String?)?

    package init(
        url: HTTPURL, urlText: String, method: String, fields: HTTPFields, body: LoadBody, idleTimeout: Double,
        totalTimeout: Double, waitsForConnectivity: Bool, priority: Float
    ) {
        self.url = url
        self.urlText = urlText
        self.method = method
        self.fields = fields
        self.body = body
        self.idleTimeout = idleTimeout
        self.totalTimeout = totalTimeout
        self.waitsForConnectivity = waitsForConnectivity
        self.priority = priority
    }

    var hasBody: Bool { !body.isNone }

    /// Where what a GET of the address brings is stored.
    package var cacheKey: CacheKey? { CacheKey(url: url, partition: partition) }
}
