public import Foundation

/// The callbacks of a ``NetService``. Every method is optional.
///
/// They come one at a time, on the service's run loop or queue: see ``NetService``. The dictionaries of failures have
/// the keys ``NetService/errorCode``, a ``NetService/ErrorCode``, and ``NetService/errorDomain``.
public protocol NetServiceDelegate: NSObjectProtocol {
    /// Publishing begins.
    func netServiceWillPublish(_ sender: NetService)

    /// The service is known to the local network. Its name may have changed.
    func netServiceDidPublish(_ sender: NetService)

    /// The service is not published, or not any more.
    func netService(_ sender: NetService, didNotPublish errorDict: [String: NSNumber])

    /// Resolving begins.
    func netServiceWillResolve(_ sender: NetService)

    /// There are addresses, in ``NetService/addresses``. Called again for more addresses and for changes, until the
    /// timeout is over or `stop()` is called.
    func netServiceDidResolveAddress(_ sender: NetService)

    /// No address was found.
    func netService(_ sender: NetService, didNotResolve errorDict: [String: NSNumber])

    /// Publishing or resolving has ended: `stop()` was called, or the timeout is over after addresses were found.
    func netServiceDidStop(_ sender: NetService)

    /// The TXT record is known or has changed, while it is monitored.
    func netService(_ sender: NetService, didUpdateTXTRecord data: Data)

    /// Not called on Linux, where services cannot listen by themselves.
    func netService(
        _ sender: NetService, didAcceptConnectionWith inputStream: InputStream, outputStream: OutputStream)
}

extension NetServiceDelegate {
    public func netServiceWillPublish(_ sender: NetService) {}
    public func netServiceDidPublish(_ sender: NetService) {}
    public func netService(_ sender: NetService, didNotPublish errorDict: [String: NSNumber]) {}
    public func netServiceWillResolve(_ sender: NetService) {}
    public func netServiceDidResolveAddress(_ sender: NetService) {}
    public func netService(_ sender: NetService, didNotResolve errorDict: [String: NSNumber]) {}
    public func netServiceDidStop(_ sender: NetService) {}
    public func netService(_ sender: NetService, didUpdateTXTRecord data: Data) {}
    public func netService(
        _ sender: NetService, didAcceptConnectionWith inputStream: InputStream, outputStream: OutputStream
    ) {}
}
