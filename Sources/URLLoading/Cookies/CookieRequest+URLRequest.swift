internal import Foundation
internal import LoadingPipeline
internal import LoadingSemantics

extension CookieRequest {
    /// Nil for a URL that has no cookies.
    ///
    /// - Parameters:
    ///   - document: The main document of the request; nil makes it first-party (COOK-14).
    ///   - partition: The cookie partition of the request (COOK-24).
    init?(_ url: URL, method: String = "GET", document: URL?, partition: String?) {
        guard let target = try? HTTPURL(url.absoluteString) else { return nil }
        self.init(target, method: method, document: Document(document), partition: partition)
    }

    init?(_ request: URLRequest) {
        guard let url = request.url else { return nil }
        self.init(
            url, method: request.method, document: request.mainDocumentURL, partition: request.cookiePartitionIdentifier
        )
    }

    init(_ request: LoadRequest, document: URL?) {
        self.init(
            request.url, method: request.method, document: Document(document), partition: request.partition)
    }
}

extension CookieRequest {
    /// The hosts whose sites the cookie rules need.
    var hosts: [String] {
        if case .web(let document) = document { [url.host, document.host] } else { [url.host] }
    }
}

extension CookieRequest.Document {
    fileprivate init(_ url: URL?) {
        guard let url else {
            self = .none
            return
        }
        self = (try? HTTPURL(url.absoluteString)).map { .web($0) } ?? .other
    }
}
