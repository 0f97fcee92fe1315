import Foundation
import TestSupport

/// The servers of the matrix. Each has the same at the same places:
///
/// | path | what is there |
/// |---|---|
/// | `/small`, `/big`, `/empty` | files |
/// | `/count` | how many bytes were posted |
/// | `/redirect` | 302 to `/small` |
/// | `/guarded` | the small file, with the password |
/// | `/trailers` | the small file with the trailer `X-Checksum` |
/// | `/status/N` | a response of that status |
/// | `/held` | the beginning of a response whose rest does not come |
/// | `/broken` | the beginning of a response, and then an end |
/// | `/dropped` | an end |
extension Peer {
    static let big = [UInt8].pattern(count: 4_000_000)

    /// What is there as files.
    static let files = [
        "small": Array("small".utf8), "big": big, "empty": [],
        "guarded": Array("small".utf8), "trailers": Array("small".utf8),
    ]

    /// The user `me` and the hash of `secret`.
    private static let hash = "$2y$04$ePfYzecl7NC8duaFrgm49.yhn289MfyPLtgVMN2of18Ql/kpfDgV."

    /// - Parameter origin: What answers for those that pass on what they do not do themselves.
    func start(before origin: ScriptedServer) throws -> any FarmServer {
        let authority = try TrustedAuthority.authority
        switch make {
        case .nginx:
            var options = NginxServer.Options()
            options.offersHTTP2 = version == .http2
            options.directives = """
                location = /redirect { return 302 /small; }
                location = /guarded { auth_basic r; auth_basic_user_file users; alias files/small; }
                location = /trailers { add_trailer X-Checksum abc; alias files/small; }
                location = /dropped { return 444; }
                location ~ ^/(count|held|broken)$ {
                    proxy_pass http://127.0.0.1:\(origin.port);
                    proxy_http_version 1.1;
                    proxy_buffering off;
                }
                """
            return try NginxServer(files: filesWithUsers, authority: authority, options: options)
        case .apache:
            return try ApacheServer(
                files: filesWithUsers, authority: authority, offersHTTP2: version == .http2,
                modules: ["alias", "proxy", "proxy_http"],
                directives: """
                    Redirect 302 /redirect /small
                    <Location /guarded>
                        AuthType Basic
                        AuthName r
                        AuthUserFile users
                        Require valid-user
                    </Location>
                    ProxyPassMatch "^/(count|held|broken|dropped|trailers|status/.*)$" "http://127.0.0.1:\(origin.port)/$1"
                    """)
        case .nghttpx:
            return try NghttpxServer(before: origin.port, authority: authority, offersHTTP2: version == .http2)
        case .caddy:
            let account = #"{ "username": "me", "password": "\#(Data(Self.hash.utf8).base64EncodedString())" }"#
            return try CaddyServer(
                files: Self.files, authority: authority,
                protocols: version == .http1 ? ["h1"] : version == .http2 ? ["h1", "h2"] : ["h3"],
                routes: """
                    { "match": [{ "path": ["/redirect"] }], "handle": [{
                        "handler": "static_response", "status_code": 302, "headers": { "Location": ["/small"] }
                    }] },
                    { "match": [{ "path": ["/dropped"] }], "handle": [{
                        "handler": "static_response", "abort": true
                    }] },
                    { "match": [{ "path": ["/guarded"] }], "handle": [{
                        "handler": "authentication", "providers": { "http_basic": {
                            "realm": "r", "hash": { "algorithm": "bcrypt" }, "accounts": [\(account)]
                        } }
                    }] },
                    { "match": [{ "path": ["/count", "/held", "/broken", "/trailers", "/status/*"] }], "handle": [{
                        "handler": "reverse_proxy", "flush_interval": -1,
                        "upstreams": [{ "dial": "127.0.0.1:\(origin.port)" }]
                    }] },
                    """)
        case .aioquic:
            return try AioquicServer(files: Self.files, authority: authority)
        case .gtlsserver:
            // It takes what is posted, and answers with the file.
            let count = ["count": Array("count".utf8)]
            return try GtlsServer(
                files: Self.files.merging(count) { $1 }, authority: authority, options: ["--send-trailers"])
        }
    }

    private var filesWithUsers: [String: [UInt8]] {
        Self.files.merging(["../users": Array("me:\(Self.hash)\n".utf8)]) { $1 }
    }
}
