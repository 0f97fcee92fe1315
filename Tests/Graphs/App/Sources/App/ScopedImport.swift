import Foundation

import class FoundationNetworking.URLSession

func moduleOfScopedImport() -> String {
    String(reflecting: URLSession.self) + "=" + String(reflecting: FoundationNetworking.URLSession.self)
}
