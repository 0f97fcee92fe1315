/// The request that received a redirect.
package struct RedirectSource: Sendable {
    package var method: String
    /// Absolute.
    package var url: String
    /// As the application set them.
    package var fields: HTTPFields
    package var hasBody: Bool
    /// The user that an earlier redirect has named for the URL, which has no userinfo.
    package var user: (user: String, password: String?)?

    package init(
        method: String, url: String, fields: HTTPFields, hasBody: Bool, user: (user: String, password: String?)? = nil
    ) {
        self.method = method
        self.url = url
        self.fields = fields
        self.hasBody = hasBody
        self.user = user
    }
}

/// The request that a redirect proposes, as changes to the previous one. Everything else is inherited.
package struct RedirectedRequest: Sendable, Equatable {
    package var method: String
    /// Absolute, without userinfo.
    package var url: String
    /// The fields to remove, as spelled in the previous request.
    package var droppedFields: [String]
    /// Whether the body is sent again.
    package var keepsBody: Bool
    /// Whether scheme, host or port differ.
    package var isCrossOrigin: Bool
    /// Whether the target is not an HTTP URL: −1002 unless a URLProtocol loads it.
    package var leavesHTTP: Bool
    /// From the userinfo of `Location`, or of the URL that it completes: proposed for the new protection space.
    package var user: String?
    package var password: String?

    package init(
        method: String, url: String, droppedFields: [String] = [], keepsBody: Bool = false,
        isCrossOrigin: Bool = false, leavesHTTP: Bool = false, user: String? = nil, password: String? = nil
    ) {
        self.method = method
        self.url = url
        self.droppedFields = droppedFields
        self.keepsBody = keepsBody
        self.isCrossOrigin = isCrossOrigin
        self.leavesHTTP = leavesHTTP
        self.user = user
        self.password = password
    }
}
