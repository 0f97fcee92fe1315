internal import Foundation
internal import LoadingSemantics

/// What a request has besides its URL, method, fields and body, for resume data (RES-10). None of it is a secret.
///
/// It is untrusted, so all values are validated.
struct RequestOptions: Codable {
    private var flags: UInt16
    private var cachePolicy: UInt
    private var timeoutInterval: Double
    private var networkServiceType: UInt
    private var attribution: UInt
    private var mainDocumentURL: String?
    private var cookiePartition: String?

    /// Nil if the program has set none.
    init?(_ request: URLRequest) {
        let values = request.storage
        let (known, uncommon) = (values.flags.subtracting(.setsFields), values.uncommonFields)
        guard known != .standard || uncommon != RequestStorage.UncommonFields() else { return nil }
        flags = known.rawValue
        cachePolicy = values.cachePolicy.rawValue
        // Zero is none too.
        timeoutInterval = values.timeoutInterval.isFinite ? values.timeoutInterval : 0
        networkServiceType = uncommon.networkServiceType.rawValue
        attribution = uncommon.attribution.rawValue
        mainDocumentURL = uncommon.mainDocumentURL.map { URLReference.withoutUserinfo($0.absoluteString) }
        cookiePartition = uncommon.cookiePartitionIdentifier
    }

    /// The request with these options.
    func applied(to request: URLRequest) -> URLRequest {
        let values = RequestStorage(copying: request.storage)
        let setsFields = values.flags.intersection(.setsFields)
        values.flags = RequestStorage.Flags(rawValue: flags).subtracting(.setsFields).union(setsFields)
        values.cachePolicy = NSURLRequest.CachePolicy(rawValue: cachePolicy) ?? .useProtocolCachePolicy
        values.timeoutInterval = timeoutInterval
        var uncommon = RequestStorage.UncommonFields()
        uncommon.networkServiceType = NSURLRequest.NetworkServiceType(rawValue: networkServiceType) ?? .default
        uncommon.attribution = NSURLRequest.Attribution(rawValue: attribution) ?? .developer
        uncommon.mainDocumentURL = mainDocumentURL.flatMap { URL(string: $0) }
        uncommon.cookiePartitionIdentifier = cookiePartition
        values.uncommonFields = uncommon
        return URLRequest(storage: values)
    }
}
