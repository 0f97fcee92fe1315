public import Foundation

/// Core Foundation's string type, an alias of `NSString`.
public typealias CFString = NSString

// Keys of `URLSessionConfiguration.connectionProxyDictionary`. Immutable, so sharing them is safe.

/// Whether HTTP uses a proxy, a number.
nonisolated(unsafe) public let kCFNetworkProxiesHTTPEnable: CFString = "HTTPEnable"
/// The host of the proxy for HTTP.
nonisolated(unsafe) public let kCFNetworkProxiesHTTPProxy: CFString = "HTTPProxy"
/// The port of the proxy for HTTP, a number.
nonisolated(unsafe) public let kCFNetworkProxiesHTTPPort: CFString = "HTTPPort"
/// Whether HTTPS uses a proxy, a number.
nonisolated(unsafe) public let kCFNetworkProxiesHTTPSEnable: CFString = "HTTPSEnable"
/// The host of the proxy for HTTPS.
nonisolated(unsafe) public let kCFNetworkProxiesHTTPSProxy: CFString = "HTTPSProxy"
/// The port of the proxy for HTTPS, a number.
nonisolated(unsafe) public let kCFNetworkProxiesHTTPSPort: CFString = "HTTPSPort"
/// Whether a SOCKS proxy is used where no other proxy applies, a number.
nonisolated(unsafe) public let kCFNetworkProxiesSOCKSEnable: CFString = "SOCKSEnable"
/// The host of the SOCKS proxy.
nonisolated(unsafe) public let kCFNetworkProxiesSOCKSProxy: CFString = "SOCKSProxy"
/// The port of the SOCKS proxy, a number.
nonisolated(unsafe) public let kCFNetworkProxiesSOCKSPort: CFString = "SOCKSPort"
/// Whether a proxy auto-config (PAC) script is used, a number.
nonisolated(unsafe) public let kCFNetworkProxiesProxyAutoConfigEnable: CFString = "ProxyAutoConfigEnable"
/// The URL of the PAC script.
nonisolated(unsafe) public let kCFNetworkProxiesProxyAutoConfigURLString: CFString = "ProxyAutoConfigURLString"
/// The source of the PAC script, instead of its URL.
nonisolated(unsafe) public let kCFNetworkProxiesProxyAutoConfigJavaScript: CFString = "ProxyAutoConfigJavaScript"
/// The hosts without proxy, an array of patterns.
nonisolated(unsafe) public let kCFNetworkProxiesExceptionsList: CFString = "ExceptionsList"
/// The host of the proxy for HTTP (key of stream properties).
nonisolated(unsafe) public let kCFStreamPropertyHTTPProxyHost: CFString = "HTTPProxy"
/// The port of the proxy for HTTP (key of stream properties).
nonisolated(unsafe) public let kCFStreamPropertyHTTPProxyPort: CFString = "HTTPPort"
/// The host of the proxy for HTTPS (key of stream properties).
nonisolated(unsafe) public let kCFStreamPropertyHTTPSProxyHost: CFString = "HTTPSProxy"
/// The port of the proxy for HTTPS (key of stream properties).
nonisolated(unsafe) public let kCFStreamPropertyHTTPSProxyPort: CFString = "HTTPSPort"
/// A dictionary with the settings of a SOCKS proxy (key of stream properties). In `connectionProxyDictionary` it has no
/// effect: the proxy is enabled by its host.
@_disfavoredOverload
nonisolated(unsafe) public let kCFStreamPropertySOCKSProxy: CFString = "kCFStreamPropertySOCKSProxy"
/// The host of the SOCKS proxy (key of stream properties). In `connectionProxyDictionary` it enables the proxy, unless
/// `kCFNetworkProxiesSOCKSEnable` is 0.
@_disfavoredOverload
nonisolated(unsafe) public let kCFStreamPropertySOCKSProxyHost: CFString = "SOCKSProxy"
/// The port of the SOCKS proxy (key of stream properties).
@_disfavoredOverload
nonisolated(unsafe) public let kCFStreamPropertySOCKSProxyPort: CFString = "SOCKSPort"
/// The user name for the SOCKS proxy.
@_disfavoredOverload
nonisolated(unsafe) public let kCFStreamPropertySOCKSUser: CFString = "kCFStreamPropertySOCKSUser"
/// The password for the SOCKS proxy.
@_disfavoredOverload
nonisolated(unsafe) public let kCFStreamPropertySOCKSPassword: CFString = "kCFStreamPropertySOCKSPassword"
/// The version of SOCKS: `kCFStreamSocketSOCKSVersion5`, which is the default, or `kCFStreamSocketSOCKSVersion4`.
@_disfavoredOverload
nonisolated(unsafe) public let kCFStreamPropertySOCKSVersion: CFString = "kCFStreamPropertySOCKSVersion"
/// SOCKS4, or SOCKS4a for hosts that have a name. No IPv6 addresses.
@_disfavoredOverload
nonisolated(unsafe) public let kCFStreamSocketSOCKSVersion4: CFString = "kCFStreamSocketSOCKSVersion4"
/// SOCKS5.
@_disfavoredOverload
nonisolated(unsafe) public let kCFStreamSocketSOCKSVersion5: CFString = "kCFStreamSocketSOCKSVersion5"
/// The user name for a proxy.
nonisolated(unsafe) public let kCFProxyUsernameKey: CFString = "kCFProxyUsernameKey"
/// The password for a proxy.
nonisolated(unsafe) public let kCFProxyPasswordKey: CFString = "kCFProxyPasswordKey"

// Keys and values of the dictionaries that describe one proxy each. In `connectionProxyDictionary` they have no effect.

/// The kind of a proxy, one of `kCFProxyType…`.
nonisolated(unsafe) public let kCFProxyTypeKey: CFString = "kCFProxyTypeKey"
/// The host of a proxy.
nonisolated(unsafe) public let kCFProxyHostNameKey: CFString = "kCFProxyHostNameKey"
/// The port of a proxy, a number.
nonisolated(unsafe) public let kCFProxyPortNumberKey: CFString = "kCFProxyPortNumberKey"
/// The URL of a PAC script.
nonisolated(unsafe) public let kCFProxyAutoConfigurationURLKey: CFString = "kCFProxyAutoConfigurationURLKey"
/// The source of a PAC script.
nonisolated(unsafe) public let kCFProxyAutoConfigurationJavaScriptKey: CFString =
    "kCFProxyAutoConfigurationJavaScriptKey"
/// No proxy.
nonisolated(unsafe) public let kCFProxyTypeNone: CFString = "kCFProxyTypeNone"
/// A proxy for HTTP.
nonisolated(unsafe) public let kCFProxyTypeHTTP: CFString = "kCFProxyTypeHTTP"
/// A proxy for HTTPS.
nonisolated(unsafe) public let kCFProxyTypeHTTPS: CFString = "kCFProxyTypeHTTPS"
/// A SOCKS proxy.
nonisolated(unsafe) public let kCFProxyTypeSOCKS: CFString = "kCFProxyTypeSOCKS"
/// A proxy for FTP.
nonisolated(unsafe) public let kCFProxyTypeFTP: CFString = "kCFProxyTypeFTP"
/// The URL of a PAC script chooses the proxy.
nonisolated(unsafe) public let kCFProxyTypeAutoConfigurationURL: CFString = "kCFProxyTypeAutoConfigurationURL"
/// The source of a PAC script chooses the proxy.
nonisolated(unsafe) public let kCFProxyTypeAutoConfigurationJavaScript: CFString =
    "kCFProxyTypeAutoConfigurationJavaScript"
