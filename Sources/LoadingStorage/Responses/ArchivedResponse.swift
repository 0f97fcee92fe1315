package import FoundationEssentials
package import LoadingSemantics

/// An archived response without its body.
package struct ArchivedResponse: Sendable, Equatable {
    /// The URL of the request, as the caller spelled it.
    package var url: String
    /// The part that the cache rules use.
    package var response: StoredResponse
    /// "HTTP/1.1" etc.; nil for other protocols.
    package var protocolName: String?
    /// Data of the caller, such as a property list (CACHE-30).
    package var userInfo: Data?

    package init(url: String, response: StoredResponse, protocolName: String? = nil, userInfo: Data? = nil) {
        self.url = url
        self.response = response
        self.protocolName = protocolName
        self.userInfo = userInfo
    }
}
