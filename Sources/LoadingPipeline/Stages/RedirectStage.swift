internal import LoadingConnections
internal import LoadingProtocols
internal import LoadingSemantics

/// Follows redirects: makes the next request from a 3xx response, and counts the redirects.
struct RedirectStage {
    private(set) var count: Int

    /// - Parameter count: The number of redirects that the task has followed before.
    init(after count: Int = 0) { self.count = count }

    enum Target {
        case follow(LoadRequest)
        /// A redirect to a scheme other than HTTP, such as a local file, is not followed unless the client handles it
        /// . Only a WebSocket is redirected to `ws` and `wss`.
        case leaveHTTP(RedirectedRequest)
    }

    /// The target of a redirect; nil for an ordinary response.
    mutating func next(
        for response: LoadResponse, to request: LoadRequest, isWebSocket: Bool
    ) throws(LoadError) -> Target? {
        let from = RedirectSource(
            method: request.method, url: request.urlText, fields: request.fields, hasBody: request.hasBody,
            user: request.redirectedUser)
        switch RedirectRules.decide(
            status: response.head.status, location: response.head.fields.firstValue("Location"), from: from,
            count: count)
        {
        case .notARedirect: return nil
        case .tooMany: throw LoadError.tooManyRedirects.at(request.urlText)
        case .follow(let redirected):
            count += 1
            if redirected.leavesHTTP { return .leaveHTTP(redirected) }
            var next = request
            do { next.url = try HTTPURL(redirected.url) } catch { throw error.loadError.at(redirected.url) }
            guard isWebSocket || next.url.scheme.isHTTP else { return .leaveHTTP(redirected) }
            next.urlText = redirected.url
            next.redirectedUser = redirected.user.map { ($0, redirected.password) }
            next.method = redirected.method
            next.fields = request.fields.without(names: redirected.droppedFields)
            if !redirected.keepsBody { next.body = .none }
            return .follow(next)
        }
    }
}
