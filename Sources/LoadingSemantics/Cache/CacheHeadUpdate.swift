/// The change that a response to HEAD makes to a stored response of GET (CACHE-20, RFC 9111 §4.3.5).
package enum CacheHeadUpdate: Sendable, Equatable {
    /// The stored response has updated fields, or must be validated before its next use.
    case changed(StoredResponse)
    /// The response to HEAD may not be stored, so the stored response is removed.
    case removed
}
