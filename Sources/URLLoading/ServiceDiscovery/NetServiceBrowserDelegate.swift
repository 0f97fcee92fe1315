public import Foundation

/// The callbacks of a ``NetServiceBrowser``. Every method is optional.
///
/// They come one at a time, on the browser's run loop or queue: see ``NetServiceBrowser``. With `moreComing`, the next
/// callback follows at once, so an interface need not be updated yet.
public protocol NetServiceBrowserDelegate: NSObjectProtocol {
    /// The search begins.
    func netServiceBrowserWillSearch(_ browser: NetServiceBrowser)

    /// The search was stopped.
    func netServiceBrowserDidStopSearch(_ browser: NetServiceBrowser)

    /// The search could not begin, or has ended by a failure. The keys are ``NetService/errorCode`` and
    /// ``NetService/errorDomain``.
    func netServiceBrowser(_ browser: NetServiceBrowser, didNotSearch errorDict: [String: NSNumber])

    /// A domain was found.
    func netServiceBrowser(_ browser: NetServiceBrowser, didFindDomain domainString: String, moreComing: Bool)

    /// A service was found, which is not resolved yet.
    func netServiceBrowser(_ browser: NetServiceBrowser, didFind service: NetService, moreComing: Bool)

    /// A domain has disappeared.
    func netServiceBrowser(_ browser: NetServiceBrowser, didRemoveDomain domainString: String, moreComing: Bool)

    /// A service has disappeared. It is the object that was found.
    func netServiceBrowser(_ browser: NetServiceBrowser, didRemove service: NetService, moreComing: Bool)
}

extension NetServiceBrowserDelegate {
    public func netServiceBrowserWillSearch(_ browser: NetServiceBrowser) {}
    public func netServiceBrowserDidStopSearch(_ browser: NetServiceBrowser) {}
    public func netServiceBrowser(_ browser: NetServiceBrowser, didNotSearch errorDict: [String: NSNumber]) {}
    public func netServiceBrowser(
        _ browser: NetServiceBrowser, didFindDomain domainString: String, moreComing: Bool
    ) {}
    public func netServiceBrowser(_ browser: NetServiceBrowser, didFind service: NetService, moreComing: Bool) {}
    public func netServiceBrowser(
        _ browser: NetServiceBrowser, didRemoveDomain domainString: String, moreComing: Bool
    ) {}
    public func netServiceBrowser(_ browser: NetServiceBrowser, didRemove service: NetService, moreComing: Bool) {}
}
