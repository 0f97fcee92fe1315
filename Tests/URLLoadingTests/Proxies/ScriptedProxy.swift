import Foundation
import TestSupport
import URLLoading

/// A scripted HTTP proxy. It answers absolute-form requests itself and, if `destination` is set, opens CONNECT tunnels
/// to that server.
struct ScriptedProxy {
    let server: ScriptedServer

    /// - Parameter guarded: Answers each request. For CONNECT, status 200 opens the tunnel.
    init(
        to destination: ScriptedServer? = nil, tls: TLSServerOptions? = nil,
        guarded: @escaping @Sendable (ReceivedRequest) throws -> CannedResponse
    ) throws {
        let port = destination?.port
        server = try ScriptedServer(tls: tls) { connection in
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

    /// A proxy that requires the credential of `basicAuth`.
    static func basic(to destination: ScriptedServer? = nil, tls: TLSServerOptions? = nil) throws -> ScriptedProxy {
        try ScriptedProxy(to: destination, tls: tls) { answer($0) }
    }

    static let basicAuth = BasicAuthResponder()

    static func answer(_ request: ReceivedRequest) -> CannedResponse {
        request["Proxy-Authorization"] == basicAuth.field() ? .text("for " + request.target) : refusal
    }

    static var refusal: CannedResponse {
        CannedResponse.text("who are you?", status: 407).with(field: "Proxy-Authenticate", "Basic realm=\"r\"")
    }

    func stop() { server.stop() }

    /// `connectionProxyDictionary` for sessions that use this proxy.
    func settings(_ more: [AnyHashable: Any] = [:]) -> [AnyHashable: Any] {
        var settings: [AnyHashable: Any] = ["ExceptionsList": ["<-loopback>"]]
        for name in ["HTTP", "HTTPS", "FTP"] {
            settings["\(name)Enable"] = 1
            settings["\(name)Proxy"] = "127.0.0.1"
            settings["\(name)Port"] = server.port
        }
        return settings.merging(more) { $1 }
    }

    func space(_ type: String, method: String = NSURLAuthenticationMethodHTTPBasic) -> URLProtectionSpace {
        URLProtectionSpace(
            proxyHost: "127.0.0.1", port: server.port, type: type, realm: "r", authenticationMethod: method)
    }

    /// The method and the `Proxy-Authorization` field of each request.
    var authorizations: [String] { server.requests.map { "\($0.method) \($0["Proxy-Authorization"] ?? "-")" } }
}
