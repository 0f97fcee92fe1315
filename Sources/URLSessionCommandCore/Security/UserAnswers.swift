package import Foundation
package import URLLoading

/// What is said to a server that asks who the user is.
package struct UserAnswers: Sendable {
    private let credential: URLCredential?
    private let methods: Set<String>
    /// Where the name and the password are for: a redirect may lead elsewhere.
    private let place: Place?

    private struct Place: Equatable {
        let scheme: String
        let host: String
        let port: Int

        init?(_ url: URL?) {
            guard let scheme = url?.scheme?.lowercased(), let host = url?.host?.lowercased() else { return nil }
            self.scheme = scheme
            self.host = host
            port = url?.port ?? (scheme == "https" ? 443 : scheme == "ftp" ? 21 : 80)
        }

        init?(_ space: URLProtectionSpace) {
            guard !space.isProxy(), let scheme = space.protocol else { return nil }
            self.scheme = scheme
            host = space.host.lowercased()
            port = space.port
        }
    }

    /// Asks for the password on the terminal if the command line has only the name.
    package init(_ command: CommandLineRequest, url: URL?) throws(UsageError) {
        place = Place(url)
        // The switches choose among what HTTP has; FTP has one way.
        let schemes = command.schemes.isEmpty ? Set(UserScheme.allCases) : command.schemes
        methods = Set(schemes.map(\.method) + [NSURLAuthenticationMethodDefault])
        guard let user = command.user else {
            credential = nil
            return
        }
        let parts = user.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard let name = parts.first, !user.isEmpty else {
            throw UsageError("--user needs NAME:PASSWORD, or NAME to be asked for the password")
        }
        if name.isEmpty {
            // As curl has it, for who is known by a ticket.
            credential = nil
            return
        }
        guard let password = parts.count > 1 ? parts[1] : PasswordPrompt.ask(for: name) else {
            throw UsageError("there is no terminal to ask for the password on: use --user NAME:PASSWORD")
        }
        credential = URLCredential(user: name, password: password, persistence: .forSession)
    }

    package func answer(
        to challenge: URLAuthenticationChallenge
    ) -> (URLSession.AuthChallengeDisposition, URLCredential?) {
        let space = challenge.protectionSpace
        guard methods.contains(space.authenticationMethod) else { return (.rejectProtectionSpace, nil) }
        guard let credential, challenge.previousFailureCount == 0, let place, place == Place(space) else {
            return (.performDefaultHandling, nil)
        }
        return (.useCredential, credential)
    }
}
