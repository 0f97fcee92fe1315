package import Foundation
package import URLLoading

/// Answers HTTP and FTP authentication challenges with the credential of `--user`.
package struct UserChallengeResponder: Sendable {
    private let credential: URLCredential?
    private let methods: Set<String>
    /// The origin of the URL. The credential is not sent to another origin after a redirect.
    private let origin: Origin?

    private struct Origin: Equatable {
        let scheme: String
        let host: String
        let port: Int

        init?(_ url: URL?) {
            guard let scheme = Self.scheme(url?.scheme), let host = url?.host?.lowercased() else { return nil }
            self.scheme = scheme
            self.host = host
            port = url?.port ?? (scheme == "https" ? 443 : scheme == "ftp" ? 21 : 80)
        }

        init?(_ space: URLProtectionSpace) {
            guard !space.isProxy(), let scheme = Self.scheme(space.protocol) else { return nil }
            self.scheme = scheme
            host = space.host.lowercased()
            port = space.port
        }

        /// A WebSocket is opened by an HTTP request to the same origin.
        private static func scheme(_ name: String?) -> String? {
            switch name?.lowercased() {
            case "ws": "http"
            case "wss": "https"
            case let name: name
            }
        }
    }

    /// Prompts for the password on the terminal if `--user` has only a name. Loads of a series have asked before.
    package init(_ command: CommandLineRequest, url: URL?) throws(UsageError) {
        origin = Origin(url)
        // The switches restrict the HTTP schemes. FTP has only one method, which is always allowed.
        let schemes = command.schemes.isEmpty ? Set(UserScheme.allCases) : command.schemes
        methods = Set(schemes.map(\.method) + [NSURLAuthenticationMethodDefault])
        guard let user = try command.userWithPassword(PasswordPrompt.ask) else {
            credential = nil
            return
        }
        let parts = user.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard let name = parts.first, !user.isEmpty else {
            throw UsageError("--user needs NAME:PASSWORD, or NAME to be asked for the password")
        }
        if name.isEmpty {
            // `-u :` means no user name, as in curl: Negotiate uses the Kerberos ticket.
            credential = nil
            return
        }
        let password = parts.count > 1 ? parts[1] : ""
        credential = URLCredential(user: name, password: password, persistence: .forSession)
    }

    package func answer(
        to challenge: URLAuthenticationChallenge
    ) -> (URLSession.AuthChallengeDisposition, URLCredential?) {
        let space = challenge.protectionSpace
        guard methods.contains(space.authenticationMethod) else { return (.rejectProtectionSpace, nil) }
        guard let credential, challenge.previousFailureCount == 0, let origin, origin == Origin(space) else {
            return (.performDefaultHandling, nil)
        }
        return (.useCredential, credential)
    }
}

/// The schemes that a user can be known by, as the switches name them.
package enum UserScheme: String, Sendable, CaseIterable {
    case basic, digest, negotiate, ntlm

    var method: String {
        switch self {
        case .basic: NSURLAuthenticationMethodHTTPBasic
        case .digest: NSURLAuthenticationMethodHTTPDigest
        case .negotiate: NSURLAuthenticationMethodNegotiate
        case .ntlm: NSURLAuthenticationMethodNTLM
        }
    }
}
