package import FoundationEssentials
package import LoadingSemantics

/// A response in the cache, and its body as the caller gets it.
package struct CacheEntry {
    package var response: StoredResponse
    package var body: Data

    package init(response: StoredResponse, body: Data) {
        self.response = response
        self.body = body
    }
}
