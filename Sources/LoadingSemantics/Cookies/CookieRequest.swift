/// The parts of a request that the cookie rules use, for retrieval and for the cookies of its response.
package struct CookieRequest: Sendable, Equatable {
    /// The document of which the request is part.
    package enum Document: Sendable, Equatable {
        /// No document, so the request is first-party (COOK-14).
        case none
        case web(HTTPURL)
        /// A document without a site, such as a file.
        case other
    }

    package var url: HTTPURL
    /// Whether the method is safe (RFC 9110 §9.2.1).
    package var isSafe: Bool
    package var document: Document
    /// Whether the response becomes the document.
    package var isTopLevelNavigation: Bool
    /// The cookie partition, or nil for the common jar (COOK-24).
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

    /// Whether the request is same-site with its document (RFC 6265bis §5.2).
    package func isSameSite(by suffixes: PublicSuffixes) -> Bool {
        switch document {
        case .none: true
        case .web(let document): suffixes.areSameSite(url, document)
        case .other: false
        }
    }
}
