/// What a server says on the control connection (RFC 959 §4.2).
package struct FTPReply: Sendable, Equatable {
    /// 100 to 599.
    package var code: Int
    /// Of the last line, without the code.
    package var text: [UInt8]

    package init(code: Int, text: [UInt8]) {
        self.code = code
        self.text = text
    }

    /// More follows about the same command.
    var isPreliminary: Bool { code < 200 }
    var isSuccess: Bool { (200..<300).contains(code) }
    /// The command is done, and wants another.
    var isIntermediate: Bool { (300..<400).contains(code) }
}
