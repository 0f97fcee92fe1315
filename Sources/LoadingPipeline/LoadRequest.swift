package import LoadingSemantics
package import LoadingTransport

/// The request of a load: the engine's form of a `URLRequest`, with the session's defaults applied.
package struct LoadRequest {
    package var url: HTTPURL
    /// The URL as given by the caller. Redirects are resolved against it.
    package var urlText: String
    package var method: String
    /// The caller's fields, including those of the configuration. Fields that the loader adds are not included.
    package var fields: HTTPFields
    package var body: LoadBody
    /// Seconds of silence before the load fails (C-6).
    package var idleTimeout: Double
    /// Seconds from start to end before the load fails (C-8); infinite for none.
    package var totalTimeout: Double
    package var waitsForConnectivity: Bool
    package var cachePolicy = CachePolicy.useProtocolCachePolicy
    /// The request's own partition for cookies and stored responses; nil for the shared one (COOK-24).
    package var partition: String?
    /// Whether HTTP/3 is tried although the server has not announced it (CONN-7).
    package var assumesHTTP3 = false
    /// Whether the request may be sent as early data, before a known server has answered, if a replay is harmless
    /// (C-32).
    package var allowsEarlyData = false
    /// The requirements of the connection on the network (C-9, C-20, C-29).
    package var service = NetworkService.ordinary
    /// From 0 to 1. Determines the order of requests that wait for a connection.
    package var priority: Float
    /// The user in the URL of the redirect that led to this request.
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

    /// The key under which the response to a GET of the URL is stored.
    package var cacheKey: CacheKey? { CacheKey(url: url, partition: partition) }
}
