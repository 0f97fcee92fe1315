import Foundation
import TestSupport
import URLLoading

/// The server side of Basic authentication for one user and realm.
struct BasicAuthResponder {
    var realm = "r"
    var user = "Mufasa"
    var password = "Circle of Life"

    var credential: URLCredential { URLCredential(user: user, password: password, persistence: .forSession) }

    func field(_ password: String? = nil) -> String {
        "Basic " + Data("\(user):\(password ?? self.password)".utf8).base64EncodedString()
    }

    var refusal: CannedResponse {
        CannedResponse.text("who are you?", status: 401).with(field: "WWW-Authenticate", "Basic realm=\"\(realm)\"")
    }

    func answer(_ request: ReceivedRequest) -> CannedResponse {
        request["Authorization"] == field() ? .text(request.summary) : refusal
    }

    func space(_ server: ScriptedServer, method: String = NSURLAuthenticationMethodHTTPBasic) -> URLProtectionSpace {
        URLProtectionSpace(
            host: "127.0.0.1", port: server.port, protocol: NSURLProtectionSpaceHTTP, realm: realm,
            authenticationMethod: method)
    }
}

extension ScriptedServer {
    /// The path and the `Authorization` field of each request.
    var authorizations: [String] { requests.map { "\($0.path) \($0["Authorization"] ?? "-")" } }
}

extension URLCredential {
    convenience init(_ user: String, _ password: String, _ persistence: Persistence = .forSession) {
        self.init(user: user, password: password, persistence: persistence)
    }
}
