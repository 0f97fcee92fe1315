/// The request that a redirect answers.
package struct RedirectSource: Sendable {
    package var method: String
    /// Absolute.
    package var url: String
    /// As the app set them.
    package var fields: HTTPFields
    package var hasBody: Bool

    package init(method: String, url: String, fields: HTTPFields, hasBody: Bool) {
        self.method = method
        self.url = url
        self.fields = fields
        self.hasBody = hasBody
    }
}
