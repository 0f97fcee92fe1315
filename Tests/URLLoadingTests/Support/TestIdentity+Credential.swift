import Foundation
import TestSupport
import Testing
import URLLoading

extension TestIdentity {
    /// What a program shows of it, read from an archive as programs do.
    func credential() throws -> URLCredential {
        var items: CFArray?
        let archive = Data(try pkcs12(password: "secret"))
        let options = [kSecImportExportPassphrase as String: "secret"] as CFDictionary
        #expect(SecPKCS12Import(archive as CFData, options, &items) == errSecSuccess)
        let item = try #require((items as? [[String: Any]])?.first)
        return URLCredential(
            identity: try #require(item[kSecImportItemIdentity as String] as? SecIdentity), certificates: nil,
            persistence: .forSession)
    }
}
