package import LoadingSemantics

/// Who says to proxies who the user is, when they are asked for a tunnel, and watches what is said. Called on the connection's
/// loop.
package protocol ProxyAuthorizer: AnyObject {
    /// What is said unasked: the value of `Proxy-Authorization`, or nil for nothing.
    func authorization(for proxy: ProxyServer, to destination: ProxyDestination) -> String?
    /// The proxy has answered, and not by asking. False if it is not who it should be.
    func isBelieved(_ head: ResponseHead, of proxy: ProxyServer, to destination: ProxyDestination) -> Bool
    /// A request goes out. Gives a number for it, by which its response is told.
    func tunnelRequested(_ authority: String, _ fields: HTTPFields) -> UInt64
    /// Whatever the proxy has answered to the request of that number.
    func tunnelAnswered(_ head: ResponseHead, to round: UInt64)
}
