package import FoundationEssentials
package import LoadingSemantics

/// A response on disk: all but its body.
package struct ArchivedResponse: Sendable, Equatable {
    /// The address that it answers, as the caller spelled it.
    package var url: String
    /// What the cache's rules look at.
    package var response: StoredResponse
    /// "HTTP/1.1" and the like; nil for another protocol's.
    package var protocolName: String?
    /// A property list, or whatever else the caller keeps with it (CACHE-30).
    package var userInfo: Data?

    package init(url: String, response: StoredResponse, protocolName: String? = nil, userInfo: Data? = nil) {
        self.url = url
        self.response = response
        self.protocolName = protocolName
        self.userInfo = userInfo
    }
}
