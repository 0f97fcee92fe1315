/// What a response to HEAD does to a stored response that could have answered a GET (CACHE-20).
package enum CacheHeadUpdate: Sendable, Equatable {
    /// It has other fields now, or needs to be asked about.
    case changed(StoredResponse)
    /// What is said of it now may not be stored.
    case removed
}
