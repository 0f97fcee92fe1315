import Foundation
import Testing

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
import struct FoundationNetworking.URLRequest
import class FoundationNetworking.URLResponse
import class FoundationNetworking.URLSession
import class FoundationNetworking.URLSessionConfiguration
import class FoundationNetworking.URLSessionDataTask
import protocol FoundationNetworking.URLSessionDelegate
import class FoundationNetworking.URLSessionDownloadTask
import class FoundationNetworking.URLSessionStreamTask
import class FoundationNetworking.URLSessionTask
import protocol FoundationNetworking.URLSessionTaskDelegate
import class FoundationNetworking.URLSessionUploadTask

/// Imports of single names, as transports of other packages write them.
@Suite struct ScopedImportTests {
    @Test("each name is the library's") func names() {
        let types: [AnyClass] = [
            CachedURLResponse.self, HTTPCookie.self, HTTPCookieStorage.self, HTTPURLResponse.self,
            URLAuthenticationChallenge.self, URLCache.self, URLCredential.self, URLCredentialStorage.self,
            URLProtectionSpace.self, URLProtocol.self, URLResponse.self, URLSession.self,
            URLSessionConfiguration.self, URLSessionDataTask.self, URLSessionDownloadTask.self,
            URLSessionStreamTask.self, URLSessionTask.self, URLSessionUploadTask.self,
        ]
        #expect(types.map { String(reflecting: $0) }.filter { !$0.hasPrefix("URLLoading.") } == [])
        #expect(String(reflecting: URLRequest.self) == "URLLoading.URLRequest")
        #expect((URLSession.shared as Any) is URLSession)
        #expect(URLRequest(url: URL(fileURLWithPath: "/")).url?.path == "/")
    }
}
