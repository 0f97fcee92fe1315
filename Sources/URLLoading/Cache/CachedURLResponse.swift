public import Foundation
internal import LoadingSemantics
internal import Synchronization

/// A cached response and its body. Immutable and thread-safe.
open class CachedURLResponse: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
    // Sendable: constants, and a reference that is set once. The user info is handed over with the response.
    private let stored: URLResponse
    private let body: Data
    private let info: [AnyHashable: Any]?
    private let policy: URLCache.StoragePolicy
    /// Further data of an HTTP response: when it was received, and the request fields that it varies by.
    private let known: StoredResponse?
    /// The same of a response that the program has made. Set when it is stored for the first time.
    private let noted = AtomicLazyReference<Facts>()

    private final class Facts: Sendable {
        let response: StoredResponse

        init(_ response: StoredResponse) { self.response = response }
    }

    /// A cached response without data, for tests.
    public override init() {
        stored = URLResponse()
        body = Data()
        info = nil
        policy = .allowed
        known = nil
    }

    /// Creates a cached response with the storage policy `allowed`.
    public init(response: URLResponse, data: Data) {
        stored = response
        body = data
        info = nil
        policy = .allowed
        known = nil
    }

    /// Creates a cached response with user info and a storage policy.
    public init(
        response: URLResponse, data: Data, userInfo: [AnyHashable: Any]? = nil, storagePolicy: URLCache.StoragePolicy
    ) {
        stored = response
        body = data
        info = userInfo
        policy = storagePolicy
        known = nil
    }

    /// A response from the loader.
    init(
        response: URLResponse, data: Data, userInfo: [AnyHashable: Any]?, storagePolicy: URLCache.StoragePolicy,
        facts: StoredResponse?
    ) {
        stored = response
        body = data
        info = userInfo
        policy = storagePolicy
        known = facts
    }

    /// The data for the caching rules; nil if this is not an HTTP response.
    final var facts: StoredResponse? {
        if let recordedFacts { return recordedFacts }
        guard let response = response as? HTTPURLResponse else { return nil }
        return StoredResponse(status: response.statusCode, fields: response.headerFields)
    }

    /// The data that was recorded when the response was loaded or stored.
    final var recordedFacts: StoredResponse? { known ?? noted.load()?.response }

    /// This response with the data for the caching rules that it lacks, as it is stored for that request. An object of
    /// the program gets them, and a copy is made if it was stored for another request.
    final func noting(_ request: URLRequest) -> CachedURLResponse {
        guard known?.variant == nil, let response = response as? HTTPURLResponse else { return self }
        let fields = response.headerFields
        guard let asked = CacheRequest(request, isVaried: fields.contains("Vary")) else { return self }
        let now = Int64(Date().timeIntervalSince1970)
        var facts = known ?? StoredResponse(status: response.statusCode, fields: fields, storedAt: now)
        facts.note(asked)
        if known == nil {
            let noted = noted.storeIfNil(Facts(facts)).response
            // An object of a subclass is not copied.
            if noted == facts || type(of: self) != CachedURLResponse.self { return self }
        }
        return CachedURLResponse(
            response: response, data: data, userInfo: userInfo, storagePolicy: storagePolicy, facts: facts)
    }

    /// A copy that inherits missing cache data from the response it was derived from.
    final func withFacts(of proposed: CachedURLResponse) -> CachedURLResponse {
        guard known == nil, var facts = proposed.known, let response = response as? HTTPURLResponse else { return self }
        facts.replaceHead(status: response.statusCode, fields: response.headerFields)
        return CachedURLResponse(
            response: response, data: data, userInfo: userInfo, storagePolicy: storagePolicy, facts: facts)
    }

    private enum Key {
        static let response = "response"
        static let data = "data"
        static let info = "userInfo"
        static let policy = "storagePolicy"
    }

    /// Decodes an archive.
    public required init?(coder: NSCoder) {
        guard coder.allowsKeyedCoding,
            let response = coder.response(forKey: Key.response), let data = coder.data(forKey: Key.data),
            let policy = URLCache.StoragePolicy(
                rawValue: UInt(truncatingIfNeeded: coder.decodeInt64(forKey: Key.policy)))
        else { return nil }
        stored = response
        body = data
        self.policy = policy
        known = nil
        info = coder.data(forKey: Key.info).flatMap(Self.userInfo)
    }

    /// Always true.
    open class var supportsSecureCoding: Bool { true }

    /// Archives use Apple's name of the class.
    open override var classForKeyedArchiver: AnyClass? { archivedClass }

    /// Encodes the user info only if it is a property list.
    open func encode(with coder: NSCoder) {
        coder.encode(stored, forKey: Key.response)
        coder.encode(body as NSData, forKey: Key.data)
        coder.encode(Int64(policy.rawValue), forKey: Key.policy)
        if let data = userInfoData { coder.encode(data as NSData, forKey: Key.info) }
    }

    /// The user info as a property list; nil if it is not one (CACHE-30).
    final var userInfoData: Data? {
        guard let info = userInfo, PropertyListSerialization.propertyList(info, isValidFor: .binary) else { return nil }
        return try? PropertyListSerialization.data(fromPropertyList: info, format: .binary, options: 0)
    }

    static func userInfo(_ data: Data) -> [AnyHashable: Any]? {
        (try? PropertyListSerialization.propertyList(from: data, format: nil)) as? [AnyHashable: Any]
    }

    /// Returns self, because cached responses are immutable.
    open func copy(with zone: NSZone? = nil) -> Any { self }

    /// The response.
    open var response: URLResponse { stored }

    /// The body.
    open var data: Data { body }

    /// Values that the program attached.
    open var userInfo: [AnyHashable: Any]? { info }

    /// Where the response may be stored.
    open var storagePolicy: URLCache.StoragePolicy { policy }

    open override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CachedURLResponse else { return false }
        return other === self || other.stored.isEqual(stored) && other.body == body && other.policy == policy
    }

    open override var hash: Int { stored.hash }
}
