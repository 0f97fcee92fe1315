/// `protocol` of a space reached over cleartext HTTP.
public let NSURLProtectionSpaceHTTP = "http"
/// `protocol` of a space reached over HTTP and TLS.
public let NSURLProtectionSpaceHTTPS = "https"
/// `protocol` of an FTP server's space.
public let NSURLProtectionSpaceFTP = "ftp"

/// `proxyType` of a proxy for HTTP.
public let NSURLProtectionSpaceHTTPProxy = "http"
/// `proxyType` of a proxy for HTTP over TLS.
public let NSURLProtectionSpaceHTTPSProxy = "https"
/// `proxyType` of a proxy for FTP.
public let NSURLProtectionSpaceFTPProxy = "ftp"
/// `proxyType` of a SOCKS proxy.
public let NSURLProtectionSpaceSOCKSProxy = "SOCKS"

/// The default method of a protocol; for HTTP the same as Basic.
public let NSURLAuthenticationMethodDefault = "NSURLAuthenticationMethodDefault"
/// HTTP Basic (RFC 7617).
public let NSURLAuthenticationMethodHTTPBasic = "NSURLAuthenticationMethodHTTPBasic"
/// HTTP Digest (RFC 7616).
public let NSURLAuthenticationMethodHTTPDigest = "NSURLAuthenticationMethodHTTPDigest"
/// An HTML form. Not used by the loader.
public let NSURLAuthenticationMethodHTMLForm = "NSURLAuthenticationMethodHTMLForm"
/// NTLM.
public let NSURLAuthenticationMethodNTLM = "NSURLAuthenticationMethodNTLM"
/// Negotiate (RFC 4559): Kerberos or NTLM.
public let NSURLAuthenticationMethodNegotiate = "NSURLAuthenticationMethodNegotiate"
/// A client certificate in the TLS handshake.
public let NSURLAuthenticationMethodClientCertificate = "NSURLAuthenticationMethodClientCertificate"
/// The evaluation of the server's certificate.
public let NSURLAuthenticationMethodServerTrust = "NSURLAuthenticationMethodServerTrust"
