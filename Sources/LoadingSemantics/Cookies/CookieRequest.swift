/// What the rules of cookies want to know of a request: that which carries cookies, or whose response sets them.
package struct CookieRequest: Sendable, Equatable {
    /// What a request is part of.
    package enum Document: Sendable, Equatable {
        /// Nothing, so it is first-party (COOK-14).
        case none
        case web(HTTPURL)
        /// One that did not come from the web, such as a file: of no site.
        case other
    }

    package var url: HTTPURL
    /// Whether the method is a safe one (RFC 9110 §9.2.1).
    package var isSafe: Bool
    package var document: Document
    /// Whether the response is to become the document.
    package var isTopLevelNavigation: Bool
    /// The jar of its own that the request uses, or nil for the common one (COOK-24).
    package var partition: String?

    package init(
        _ url: HTTPURL, method: String = "GET", document: Document = .none, isTopLevelNavigation: Bool = false,
        partition: String? = nil
    ) {
        self.url = url
        isSafe = RequestMethod.isSafe(method)
        self.document = document
        self.isTopLevelNavigation = isTopLevelNavigation
        self.partition = partition
    }

    /// Without the query.
    package var path: String {
        String(decoding: url.target.prefix { $0 != UInt8(ascii: "?") }, as: UTF8.self)
    }

    /// Whether the request goes to the site whose document it belongs to (RFC 6265bis §5.2).
    package func isSameSite(by suffixes: PublicSuffixes) -> Bool {
        switch document {
        case .none: true
        case .web(let document): suffixes.areSameSite(url, document)
        case .other: false
        }
    }
}
