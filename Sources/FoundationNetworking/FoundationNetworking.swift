@_exported public import URLLoading

// Foundation has unavailable aliases of these names, which point here. An import of one name alone, such as
// `import class FoundationNetworking.URLSession`, finds those as well as what is exported again, and takes neither.
public typealias CachedURLResponse = URLLoading.CachedURLResponse
public typealias HTTPCookie = URLLoading.HTTPCookie
public typealias HTTPCookieStorage = URLLoading.HTTPCookieStorage
public typealias HTTPURLResponse = URLLoading.HTTPURLResponse
public typealias URLResponse = URLLoading.URLResponse
public typealias URLSession = URLLoading.URLSession
public typealias URLSessionConfiguration = URLLoading.URLSessionConfiguration
public typealias URLSessionDataTask = URLLoading.URLSessionDataTask
public typealias URLSessionDownloadTask = URLLoading.URLSessionDownloadTask
public typealias URLSessionStreamTask = URLLoading.URLSessionStreamTask
public typealias URLSessionTask = URLLoading.URLSessionTask
public typealias URLSessionUploadTask = URLLoading.URLSessionUploadTask
public typealias URLAuthenticationChallenge = URLLoading.URLAuthenticationChallenge
public typealias URLCache = URLLoading.URLCache
public typealias URLCredential = URLLoading.URLCredential
public typealias URLCredentialStorage = URLLoading.URLCredentialStorage
public typealias URLProtectionSpace = URLLoading.URLProtectionSpace
public typealias URLProtocol = URLLoading.URLProtocol
