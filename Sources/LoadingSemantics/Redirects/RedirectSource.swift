/// The request that received a redirect.
package struct RedirectSource: Sendable {
    package var method: String
    /// Absolute.
    package var url: String
    /// As the application set them.
    package var fields: HTTPFields
    package var hasBody: Bool

    package init(method: String, url: String, fields: HTTPFields, hasBody: Bool) {
        self.method = method
        self.url = url
        self.fields = fields
        self.hasBody = hasBody
    }
}
