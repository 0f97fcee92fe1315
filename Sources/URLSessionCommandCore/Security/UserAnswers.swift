import Foundation
import URLLoading

/// What is said to a server that asks who the user is.
struct UserAnswers: @unchecked Sendable {
    // Sendable: constants only.
    private let credential: URLCredential?
    private let methods: Set<String>
    /// Where the name and the password are for: a redirect may lead elsewhere.
    private let host: String?
    private let port: Int?

    /// Asks for the password on the terminal if the command line has only the name.
    init(_ command: CommandLineRequest, url: URL?) throws(UsageError) {
        host = url?.host?.lowercased()
        port = url?.port ?? (url?.scheme?.lowercased() == "https" ? 443 : 80)
        methods = Set((command.schemes.isEmpty ? Set(UserScheme.allCases) : command.schemes).map(\.method))
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

    func answer(
        to challenge: URLAuthenticationChallenge
    ) -> (URLSession.AuthChallengeDisposition, URLCredential?) {
        let space = challenge.protectionSpace
        guard methods.contains(space.authenticationMethod) else { return (.rejectProtectionSpace, nil) }
        guard let credential, challenge.previousFailureCount == 0, space.host.lowercased() == host, space.port == port
        else { return (.performDefaultHandling, nil) }
        return (.useCredential, credential)
    }
}
