public import Foundation
internal import LoadingSemantics

/// A response and its body as the cache holds them. Immutable and safe to use from any thread.
open class CachedURLResponse: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
    // Sendable: constants only; the user info is the user's, who gives it away with the response.
    private let stored: URLResponse
    private let body: Data
    private let info: [AnyHashable: Any]?
    private let policy: URLCache.StoragePolicy
    /// What is known of a response of HTTP besides: when it came, and for which requests it is meant.
    private let known: StoredResponse?

    /// A response that may be kept in memory and on disk.
    public init(response: URLResponse, data: Data) {
        stored = response
        body = data
        info = nil
        policy = .allowed
        known = nil
    }

    /// A response with values of the user's own, and where it may be kept.
    public init(
        response: URLResponse, data: Data, userInfo: [AnyHashable: Any]? = nil, storagePolicy: URLCache.StoragePolicy
    ) {
        stored = response
        body = data
        info = userInfo
        policy = storagePolicy
        known = nil
    }

    /// A response as the loader has it.
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

    /// What the rules of the cache go by; nil if the response is none of HTTP.
    final var facts: StoredResponse? {
        if let known { return known }
        guard let response = response as? HTTPURLResponse else { return nil }
        return StoredResponse(status: response.statusCode, fields: response.headerFields)
    }

    /// The same with what is known of another, of which somebody has made it, where it has nothing of its own.
    final func withFacts(of proposed: CachedURLResponse) -> CachedURLResponse {
        guard known == nil, var facts = proposed.known, let response = response as? HTTPURLResponse else { return self }
        facts.status = response.statusCode
        facts.fields = response.headerFields
        return CachedURLResponse(
            response: response, data: data, userInfo: userInfo, storagePolicy: storagePolicy, facts: facts)
    }

    private enum Key {
        static let response = "response"
        static let data = "data"
        static let info = "userInfo"
        static let policy = "storagePolicy"
    }

    /// Reads what `encode(with:)` wrote.
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

    open class var supportsSecureCoding: Bool { true }

    /// In archives the class has Apple's name.
    open override var classForKeyedArchiver: AnyClass? { archivedClass }

    /// Writes the user info if it is a property list, else leaves it out.
    open func encode(with coder: NSCoder) {
        coder.encode(stored, forKey: Key.response)
        coder.encode(body as NSData, forKey: Key.data)
        coder.encode(Int64(policy.rawValue), forKey: Key.policy)
        if let data = userInfoData { coder.encode(data as NSData, forKey: Key.info) }
    }

    /// The user info as a property list; nil if it is none (CACHE-30).
    final var userInfoData: Data? {
        guard let info = userInfo, PropertyListSerialization.propertyList(info, isValidFor: .binary) else { return nil }
        return try? PropertyListSerialization.data(fromPropertyList: info, format: .binary, options: 0)
    }

    static func userInfo(_ data: Data) -> [AnyHashable: Any]? {
        (try? PropertyListSerialization.propertyList(from: data, format: nil)) as? [AnyHashable: Any]
    }

    /// The same object, since it never changes.
    open func copy(with zone: NSZone? = nil) -> Any { self }

    /// The response.
    open var response: URLResponse { stored }

    /// The body.
    open var data: Data { body }

    /// What the user attached.
    open var userInfo: [AnyHashable: Any]? { info }

    /// Where it may be kept.
    open var storagePolicy: URLCache.StoragePolicy { policy }

    open override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CachedURLResponse else { return false }
        return other === self || other.stored.isEqual(stored) && other.body == body && other.policy == policy
    }

    open override var hash: Int { stored.hash }
}
