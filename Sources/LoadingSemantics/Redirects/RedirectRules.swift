/// What a 3xx response asks for (rules ).
package enum RedirectRules {
    /// How many redirects one task follows, whoever approves them.
    package static let limit = 20

    /// - Parameters:
    ///   - location: The value of `Location`, or nil.
    ///   - count: How many redirects the task has followed.
    package static func decide(
        status: Int, location: String?, from request: RedirectSource, count: Int
    ) -> RedirectDecision {
        guard isFollowed(status), let location, let target = target(of: location, from: request.url) else {
            return .notARedirect
        }
        if count >= limit { return .tooMany(url: target.url) }

        let method = method(after: status, of: request.method)
        let losesBody = method != request.method || status == 303
        let isCrossOrigin = !target.isSameOrigin
        var doomed = alwaysDropped
        if method != request.method { doomed += bodyFields }
        if isCrossOrigin { doomed += crossOriginFields }
        if target.isDowngrade { doomed.append("referer") }
        return .follow(
            RedirectedRequest(
                method: method, url: target.url, droppedFields: present(doomed, in: request.fields),
                keepsBody: request.hasBody && !losesBody, isCrossOrigin: isCrossOrigin, leavesHTTP: target.leavesHTTP,
                user: target.user, password: target.password))
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

    private static func present(_ doomed: [String], in fields: HTTPFields) -> [String] {
        fields.positions.indices.filter { index in doomed.contains { fields.isNamed($0, at: index) } }
            .map { fields.name(at: $0) }
    }
}
