package import LoadingSemantics
package import LoadingTransport

/// The request of a load: the engine's form of a `URLRequest`, with the session's defaults applied.
///
/// Copies share their values until one is changed: every stage of a load reads the request, and only redirects change
/// it.
package struct LoadRequest {
    private var values: Values

    /// Reached through the request alone: exclusive access to the request protects the values, and only an instance
    /// with a single owner is changed. It is therefore not checked again for each of them.
    private final class Values {
        @exclusivity(unchecked) var url: HTTPURL
        @exclusivity(unchecked) var urlText: String
        @exclusivity(unchecked) var method: String
        @exclusivity(unchecked) var fields: HTTPFields
        @exclusivity(unchecked) var body: LoadBody
        @exclusivity(unchecked) var idleTimeout: Double
        @exclusivity(unchecked) var totalTimeout: Double
        @exclusivity(unchecked) var waitsForConnectivity: Bool
        @exclusivity(unchecked) var priority: Float
        @exclusivity(unchecked) var cachePolicy = CachePolicy.useProtocolCachePolicy
        @exclusivity(unchecked) var partition: String?
        @exclusivity(unchecked) var assumesHTTP3 = false
        @exclusivity(unchecked) var allowsEarlyData = false
        @exclusivity(unchecked) var service = NetworkService.ordinary
        @exclusivity(unchecked) var redirectedUser: (user: String, password: String?)?

        init(
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

        convenience init(copying other: Values) {
            self.init(
                url: other.url, urlText: other.urlText, method: other.method, fields: other.fields, body: other.body,
                idleTimeout: other.idleTimeout, totalTimeout: other.totalTimeout,
                waitsForConnectivity: other.waitsForConnectivity, priority: other.priority)
            cachePolicy = other.cachePolicy
            partition = other.partition
            assumesHTTP3 = other.assumesHTTP3
            allowsEarlyData = other.allowsEarlyData
            service = other.service
            redirectedUser = other.redirectedUser
        }
    }

    package init(
        url: HTTPURL, urlText: String, method: String, fields: HTTPFields, body: LoadBody, idleTimeout: Double,
        totalTimeout: Double, waitsForConnectivity: Bool, priority: Float
    ) {
        values = Values(
            url: url, urlText: urlText, method: method, fields: fields, body: body, idleTimeout: idleTimeout,
            totalTimeout: totalTimeout, waitsForConnectivity: waitsForConnectivity, priority: priority)
    }

    /// The values to change: copied first if another request shares them.
    private mutating func owned() -> Values {
        if !isKnownUniquelyReferenced(&values) { values = Values(copying: values) }
        return values
    }

    package var url: HTTPURL {
        get { values.url }
        set { owned().url = newValue }
    }

    /// The URL as given by the caller. Redirects are resolved against it.
    package var urlText: String {
        get { values.urlText }
        set { owned().urlText = newValue }
    }

    package var method: String {
        get { values.method }
        set { owned().method = newValue }
    }

    /// The caller's fields, including those of the configuration. Fields that the loader adds are not included.
    package var fields: HTTPFields {
        get { values.fields }
        _modify { yield &owned().fields }
    }

    package var body: LoadBody {
        get { values.body }
        set { owned().body = newValue }
    }

    /// Seconds of silence before the load fails (C-6).
    package var idleTimeout: Double {
        get { values.idleTimeout }
        set { owned().idleTimeout = newValue }
    }

    /// Seconds from start to end before the load fails (C-8); infinite for none.
    package var totalTimeout: Double {
        get { values.totalTimeout }
        set { owned().totalTimeout = newValue }
    }

    package var waitsForConnectivity: Bool {
        get { values.waitsForConnectivity }
        set { owned().waitsForConnectivity = newValue }
    }

    /// From 0 to 1. Determines the order of requests that wait for a connection.
    package var priority: Float {
        get { values.priority }
        set { owned().priority = newValue }
    }

    package var cachePolicy: CachePolicy {
        get { values.cachePolicy }
        set { owned().cachePolicy = newValue }
    }

    /// The request's own partition for cookies and stored responses; nil for the shared one (COOK-24).
    package var partition: String? {
        get { values.partition }
        set { owned().partition = newValue }
    }

    /// Whether HTTP/3 is tried although the server has not announced it (CONN-7).
    package var assumesHTTP3: Bool {
        get { values.assumesHTTP3 }
        set { owned().assumesHTTP3 = newValue }
    }

    /// Whether the request may be sent as early data, before a known server has answered, if a replay is harmless
    /// (C-32).
    package var allowsEarlyData: Bool {
        get { values.allowsEarlyData }
        set { owned().allowsEarlyData = newValue }
    }

    /// The requirements of the connection on the network (C-9, C-20, C-29).
    package var service: NetworkService {
        get { values.service }
        set { owned().service = newValue }
    }

    /// The user in the URL of the redirect that led to this request.
    var redirectedUser: (user: String, password: String?)? {
        get { values.redirectedUser }
        set { owned().redirectedUser = newValue }
    }

    var hasBody: Bool { !values.body.isNone }

    /// The key under which the response to a GET of the URL is stored.
    package var cacheKey: CacheKey? { CacheKey(url: values.url, partition: values.partition) }
}
