/// Interprets 3xx responses (rules ).
package enum RedirectRules {
    /// The number of redirects that a task follows, whatever its delegate approves.
    package static let limit = 20

    /// - Parameters:
    ///   - location: The value of `Location`, or nil.
    ///   - count: The number of redirects that the task has followed.
    package static func decide(
        status: Int, location: String?, from request: RedirectSource, count: Int
    ) -> RedirectDecision {
        guard isFollowed(status), let location, let target = target(of: location, from: request.url) else {
            return .notARedirect
        }
        if count >= limit { return .tooMany }

        let method = method(after: status, of: request.method)
        let losesBody = method != request.method || status == 303
        let isCrossOrigin = !target.isSameOrigin
        var dropped = alwaysDropped
        if method != request.method { dropped += bodyFields }
        if isCrossOrigin { dropped += crossOriginFields }
        if target.isDowngrade { dropped.append("referer") }
        // The userinfo is part of the authority, but was removed from the URL.
        let user = target.user ?? (target.inheritsAuthority ? request.user : nil)
        return .follow(
            RedirectedRequest(
                method: method, url: target.url, droppedFields: present(dropped, in: request.fields),
                keepsBody: request.hasBody && !losesBody, isCrossOrigin: isCrossOrigin, leavesHTTP: target.leavesHTTP,
                user: user?.user, password: user?.password))
    }

    ///
    private static func isFollowed(_ status: Int) -> Bool {
        switch status {
        case 301, 302, 303, 305, 306, 307, 308: true
        default: false
        }
    }

    ///
    private static func method(after status: Int, of method: String) -> String {
        switch status {
        case 303: "GET"
        case 301, 302: method == "POST" ? "GET" : method
        default: method
        }
    }

    ///
    private static let alwaysDropped = ["authorization"]
    ///
    private static let crossOriginFields = ["cookie", "origin", "proxy-authorization"]
    ///
    private static let bodyFields = [
        "content-length", "content-type", "content-encoding", "content-language", "content-location",
        "transfer-encoding", "digest", "content-digest", "repr-digest",
    ]

    private static func present(_ dropped: [String], in fields: HTTPFields) -> [String] {
        fields.positions.indices.filter { index in dropped.contains { fields.isNamed($0, at: index) } }
            .map { fields.name(at: $0) }
    }
}

/// The effect of a response on the redirects of its task.
package enum RedirectDecision: Sendable, Equatable {
    /// The response is the result of the task.
    case notARedirect
    case follow(RedirectedRequest)
    /// The limit is exceeded. The URL that failed is the one whose response this is.
    case tooMany
}
