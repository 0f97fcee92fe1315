package import LoadingSemantics
package import LoadingTransport

/// The request of a load: the engine's form of a `URLRequest`, with the session's defaults applied.
///
/// Copies share their values until one is changed: every stage of a load reads the request, and only redirects change
/// it.
package struct LoadRequest {
    private var storage: Storage

    private struct Values {
        var url: HTTPURL
        var urlText: String
        var method: String
        var fields: HTTPFields
        var body: LoadBody
        let idleTimeout: Double
        let totalTimeout: Double
        let waitsForConnectivity: Bool
        var priority: Float
        var cachePolicy = CachePolicy.useProtocolCachePolicy
        var partition: String?
        var assumesHTTP3 = false
        var allowsEarlyData = false
        var service = NetworkService.ordinary
        var redirectedUser: (user: String, password: String?)?
    }

    /// Reached through the request alone: exclusive access to the request protects the values, and only an instance
    /// with a single owner is changed. It is therefore not checked again.
    private final class Storage {
        @exclusivity(unchecked) var values: Values

        init(_ values: Values) { self.values = values }
    }

    package init(
        url: HTTPURL, urlText: String, method: String, fields: HTTPFields, body: LoadBody, idleTimeout: Double,
        totalTimeout: Double, waitsForConnectivity: Bool, priority: Float
    ) {
        storage = Storage(
            Values(
                url: url, urlText: urlText, method: method, fields: fields, body: body, idleTimeout: idleTimeout,
                totalTimeout: totalTimeout, waitsForConnectivity: waitsForConnectivity, priority: priority))
    }

    /// The storage to change: copied first if another request shares it.
    private mutating func owned() -> Storage {
        if !isKnownUniquelyReferenced(&storage) { storage = Storage(storage.values) }
        return storage
    }

    package var url: HTTPURL {
        get { storage.values.url }
        set { owned().values.url = newValue }
    }

    /// The URL as given by the caller. Redirects are resolved against it.
    package var urlText: String {
        get { storage.values.urlText }
        set { owned().values.urlText = newValue }
    }

    package var method: String {
        get { storage.values.method }
        set { owned().values.method = newValue }
    }

    /// The caller's fields, including those of the configuration. Fields that the loader adds are not included.
    package var fields: HTTPFields {
        get { storage.values.fields }
        _modify { yield &owned().values.fields }
    }

    package var body: LoadBody {
        get { storage.values.body }
        set { owned().values.body = newValue }
    }

    /// Seconds without network activity before the load fails (C-6).
    package var idleTimeout: Double { storage.values.idleTimeout }

    /// Seconds from start to end before the load fails (C-8); infinite for none.
    package var totalTimeout: Double { storage.values.totalTimeout }

    package var waitsForConnectivity: Bool { storage.values.waitsForConnectivity }

    /// From 0 to 1. Determines the order of requests that wait for a connection.
    package var priority: Float {
        get { storage.values.priority }
        set { owned().values.priority = newValue }
    }

    package var cachePolicy: CachePolicy {
        get { storage.values.cachePolicy }
        set { owned().values.cachePolicy = newValue }
    }

    /// The request's own partition for cookies and stored responses; nil for the shared one (COOK-24).
    package var partition: String? {
        get { storage.values.partition }
        set { owned().values.partition = newValue }
    }

    /// Whether HTTP/3 is tried although the server has not announced it (CONN-7).
    package var assumesHTTP3: Bool {
        get { storage.values.assumesHTTP3 }
        set { owned().values.assumesHTTP3 = newValue }
    }

    /// Whether the request may be sent as early data, before a known server has answered, if a replay is harmless
    /// (C-32).
    package var allowsEarlyData: Bool {
        get { storage.values.allowsEarlyData }
        set { owned().values.allowsEarlyData = newValue }
    }

    /// The requirements of the connection on the network (C-9, C-20, C-29).
    package var service: NetworkService {
        get { storage.values.service }
        set { owned().values.service = newValue }
    }

    /// The user in the URL of the redirect that led to this request.
    var redirectedUser: (user: String, password: String?)? {
        get { storage.values.redirectedUser }
        set { owned().values.redirectedUser = newValue }
    }

    var hasBody: Bool { !storage.values.body.isNone }

    /// The key under which the response to a GET of the URL is stored.
    package var cacheKey: CacheKey? { CacheKey(url: storage.values.url, partition: storage.values.partition) }
}
