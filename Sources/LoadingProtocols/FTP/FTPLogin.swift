/// Who the user is.
package struct FTPLogin: Sendable, Equatable {
    package var user: String
    /// Nil where nobody has said one: a server that wants one refuses the user then.
    package var password: String?

    package init(user: String, password: String?) {
        self.user = user
        self.password = password
    }

    /// RFC 1635. Nearly every server takes any password; those that compare it know this one.
    package static let anonymous = FTPLogin(user: "anonymous", password: "anonymous")
}
