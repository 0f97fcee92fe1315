public import Foundation

/// The type of the keys of a proxy dictionary, as Apple's Core Foundation names it.
public typealias CFString = NSString

// Keys of `URLSessionConfiguration.connectionProxyDictionary`. Constants that never change, hence safe to share.

/// A number: whether HTTP goes through a proxy.
nonisolated(unsafe) public let kCFNetworkProxiesHTTPEnable: CFString = "HTTPEnable"
/// The host of the proxy for HTTP.
nonisolated(unsafe) public let kCFNetworkProxiesHTTPProxy: CFString = "HTTPProxy"
/// The port of the proxy for HTTP, a number.
nonisolated(unsafe) public let kCFNetworkProxiesHTTPPort: CFString = "HTTPPort"
/// A number: whether HTTPS goes through a proxy.
nonisolated(unsafe) public let kCFNetworkProxiesHTTPSEnable: CFString = "HTTPSEnable"
/// The host of the proxy for HTTPS.
nonisolated(unsafe) public let kCFNetworkProxiesHTTPSProxy: CFString = "HTTPSProxy"
/// The port of the proxy for HTTPS, a number.
nonisolated(unsafe) public let kCFNetworkProxiesHTTPSPort: CFString = "HTTPSPort"
/// A number: whether everything else goes through a SOCKS proxy.
nonisolated(unsafe) public let kCFNetworkProxiesSOCKSEnable: CFString = "SOCKSEnable"
/// The host of the SOCKS proxy.
nonisolated(unsafe) public let kCFNetworkProxiesSOCKSProxy: CFString = "SOCKSProxy"
/// The port of the SOCKS proxy, a number.
nonisolated(unsafe) public let kCFNetworkProxiesSOCKSPort: CFString = "SOCKSPort"
/// A number: whether a script picks the proxy.
nonisolated(unsafe) public let kCFNetworkProxiesProxyAutoConfigEnable: CFString = "ProxyAutoConfigEnable"
/// Where that script is.
nonisolated(unsafe) public let kCFNetworkProxiesProxyAutoConfigURLString: CFString = "ProxyAutoConfigURLString"
/// The script itself, in place of an address.
nonisolated(unsafe) public let kCFNetworkProxiesProxyAutoConfigJavaScript: CFString = "ProxyAutoConfigJavaScript"
/// The hosts no proxy is used for, a list of patterns.
nonisolated(unsafe) public let kCFNetworkProxiesExceptionsList: CFString = "ExceptionsList"
/// The host of the SOCKS proxy, under its name for streams.
nonisolated(unsafe) public let kCFStreamPropertySOCKSProxyHost: CFString = "SOCKSProxy"
/// The port of the SOCKS proxy, under its name for streams.
nonisolated(unsafe) public let kCFStreamPropertySOCKSProxyPort: CFString = "SOCKSPort"
/// The user name for the SOCKS proxy.
nonisolated(unsafe) public let kCFStreamPropertySOCKSUser: CFString = "kCFStreamPropertySOCKSUser"
/// The password for the SOCKS proxy.
nonisolated(unsafe) public let kCFStreamPropertySOCKSPassword: CFString = "kCFStreamPropertySOCKSPassword"
/// The user name for a proxy.
nonisolated(unsafe) public let kCFProxyUsernameKey: CFString = "kCFProxyUsernameKey"
/// The password for a proxy.
nonisolated(unsafe) public let kCFProxyPasswordKey: CFString = "kCFProxyPasswordKey"
