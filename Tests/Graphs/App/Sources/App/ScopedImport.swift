import Foundation

import class FoundationNetworking.CachedURLResponse
import class FoundationNetworking.HTTPCookie
import class FoundationNetworking.HTTPCookieStorage
import class FoundationNetworking.HTTPURLResponse
import class FoundationNetworking.URLAuthenticationChallenge
import class FoundationNetworking.URLCache
import class FoundationNetworking.URLCredential
import class FoundationNetworking.URLCredentialStorage
import class FoundationNetworking.URLProtectionSpace
import class FoundationNetworking.URLProtocol
import class FoundationNetworking.URLResponse
import class FoundationNetworking.URLSession
import class FoundationNetworking.URLSessionConfiguration
import class FoundationNetworking.URLSessionDataTask
import class FoundationNetworking.URLSessionDownloadTask
import class FoundationNetworking.URLSessionStreamTask
import class FoundationNetworking.URLSessionTask
import class FoundationNetworking.URLSessionUploadTask

/// The module of the names that are imported one by one; of the first that is another one, if there is such.
func moduleOfScopedImport() -> String {
    let imported: [Any.Type] = [
        CachedURLResponse.self, HTTPCookie.self, HTTPCookieStorage.self, HTTPURLResponse.self,
        URLAuthenticationChallenge.self, URLCache.self, URLCredential.self, URLCredentialStorage.self,
        URLProtectionSpace.self, URLProtocol.self, URLResponse.self, URLSession.self, URLSessionConfiguration.self,
        URLSessionDataTask.self, URLSessionDownloadTask.self, URLSessionStreamTask.self, URLSessionTask.self,
        URLSessionUploadTask.self,
    ]
    let module = String(reflecting: URLSession.self).prefix { $0 != "." }
    let other = imported.first { String(reflecting: $0).prefix { $0 != "." } != module }
    return String(reflecting: other ?? URLSession.self) + "=" + String(reflecting: FoundationNetworking.URLSession.self)
}
