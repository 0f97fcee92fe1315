internal import LoadingConnections
internal import LoadingProtocols
internal import LoadingSemantics

/// Cookies: attached to each request that goes out, taken from each response.
extension Load {
    /// Whether the cookies of the request are known. Else the exchange begins when they are.
    func hasCookies() -> Bool {
        // Cookies are HTTP's, also where a proxy is spoken to about FTP.
        if request.url.scheme == .ftp { return true }
        if cookies.mustAsk(), case .now(let field) = client?.load(self, cookiesFor: request) ?? .now(nil) {
            cookies.take(field)
        }
        return cookies.isAnswered
    }

    /// The client's answer: the value of the `Cookie` field, or nil if it has none.
    package func provideCookies(_ field: String?) {
        if cookies.take(field) { goOnWithRequest() }
    }

    /// Gives a request its cookies. What the caller has put into the field himself gives way to them (COOK-22).
    func addCookies(to exchange: inout ExchangeRequest) {
        guard let field = cookies.answer ?? nil else { return }
        exchange.fields = exchange.fields.without(names: ["Cookie"])
        exchange.fields.append("Cookie", field)
    }

    /// Any response may set cookies, also one that the client never sees (COOK-23).
    func takeCookies(of head: ResponseHead) {
        // A proxy that asks who the user is speaks for itself.
        guard head.fields.contains("Set-Cookie"), head.status != 407, request.url.scheme != .ftp else {
            return
        }
        client?.load(self, didReceiveCookies: head.fields.values("Set-Cookie"), for: request)
    }
}
