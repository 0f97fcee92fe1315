/// Why an FTP load cannot go on.
package enum FTPFailure: Error, Sendable, Equatable {
    /// The server's answer is not a reply.
    case malformedReply
    case lineTooLong
    case tooManyLines
    case tooManyReplies
    /// A reply without a command, or of a kind that the command does not have.
    case unexpectedReply(Int)
    /// The answer with the port of a data connection has none.
    case noPort
    /// A name, a user or a password has a character that would end the command.
    case forbiddenCharacter
    /// The server refused, with this reply.
    case refused(FTPReply)
    /// What was to be a file is a directory.
    case isDirectory
    /// The control connection ended, or the server said that it ends it.
    case connectionLost
    /// The transfer stopped before its end, with this reply.
    case interrupted(FTPReply)
    /// Less came than was announced.
    case truncated
    /// More came than the rest of a file that was continued: the server began anew.
    case overlong
}
