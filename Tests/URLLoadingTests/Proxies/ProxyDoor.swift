import Foundation
import TestSupport
import URLLoading

/// A proxy that a script plays: it loads requests itself, or makes tunnels to one server, for whom it lets in.
struct ProxyDoor {
    let proxy: ScriptedServer

    /// - Parameter guarded: What is answered to a request; 200 lets it in.
    init(
        to server: ScriptedServer? = nil, tls: TLSServerOptions? = nil,
        guarded: @escaping @Sendable (ReceivedRequest) throws -> CannedResponse
    ) throws {
        let port = server?.port
        proxy = try ScriptedServer(tls: tls) { connection in
            do {
                while let request = try connection.nextRequest() {
                    let response = try guarded(request)
                    if response.status == 200, request.method == "CONNECT", let port {
                        var head = "HTTP/1.1 200 OK\r\n"
                        for field in response.fields { head += "\(field.name): \(field.value)\r\n" }
                        try connection.send(head + "\r\n")
                        return try connection.relay(to: port)
                    }
                    try connection.send(response, to: request)
                    if !response.keepsAlive {
                        try connection.finishSending()
                        try connection.waitForClose()
                        return
                    }
                }
            } catch  where connection.record.end != nil {
                return
            }
        }
    }

    /// Lets in one user.
    static func basic(to server: ScriptedServer? = nil, tls: TLSServerOptions? = nil) throws -> ProxyDoor {
        try ProxyDoor(to: server, tls: tls) { answer($0) }
    }

    static let `guard` = BasicGuard()

    static func answer(_ request: ReceivedRequest) -> CannedResponse {
        request["Proxy-Authorization"] == `guard`.field() ? .text("for " + request.target) : refusal
    }

    static var refusal: CannedResponse {
        CannedResponse.text("who are you?", status: 407).with(field: "Proxy-Authenticate", "Basic realm=\"r\"")
    }

    func stop() { proxy.stop() }

    /// The settings of a session that goes through it.
    func settings(_ more: [AnyHashable: Any] = [:]) -> [AnyHashable: Any] {
        var settings: [AnyHashable: Any] = ["ExceptionsList": ["<-loopback>"]]
        for name in ["HTTP", "HTTPS", "FTP"] {
            settings["\(name)Enable"] = 1
            settings["\(name)Proxy"] = "127.0.0.1"
            settings["\(name)Port"] = proxy.port
        }
        return settings.merging(more) { $1 }
    }

    func space(_ type: String, method: String = NSURLAuthenticationMethodHTTPBasic) -> URLProtectionSpace {
        URLProtectionSpace(
            proxyHost: "127.0.0.1", port: proxy.port, type: type, realm: "r", authenticationMethod: method)
    }

    /// What each request has said of the user, with its method.
    var authorizations: [String] { proxy.requests.map { "\($0.method) \($0["Proxy-Authorization"] ?? "-")" } }
}
