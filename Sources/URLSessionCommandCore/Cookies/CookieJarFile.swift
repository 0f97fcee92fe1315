import Foundation
import URLLoading

/// The cookies of one run: read from the files of `-b` and a named session, and written to the file of `-c`.
struct CookieJarFile {
    let storage = HTTPCookieStorage()
    private let path: String?
    /// The cookies in whose place those of a text are sent.
    private var replaced: [HTTPCookie] = []

    /// Nil if the command line names no file and no session.
    ///
    /// The cookies of a text replace those of files, and those replace the session's.
    ///
    /// - Parameter kept: The cookies of the session.
    init?(_ command: CommandLineRequest, urls: [URL], kept: [HTTPCookie] = []) throws(UsageError) {
        guard command.usesCookieStorage else { return nil }
        path = command.cookieJar
        storage.cookieAcceptPolicy = .always
        for cookie in kept { storage.setCookie(cookie) }
        for source in command.cookieSources where !source.contains("=") {
            try read(source, leavingOutSessions: command.leavesOutSessionCookies, host: urls.first?.host ?? "")
        }
        for text in command.cookieFields { add(text, for: urls) }
        for source in command.cookieSources where source.contains("=") { add(source, for: urls) }
    }

    private mutating func add(_ text: String, for urls: [URL]) {
        for cookie in urls.flatMap({ CookieFile.cookies(ofText: text, for: $0) }) {
            replaced += (storage.cookies ?? []).filter {
                Self.areSame($0, cookie) && $0.comment != CookieFile.commentOfText
            }
            storage.setCookie(cookie)
        }
    }

    /// Whether one would replace the other in a storage.
    private static func areSame(_ left: HTTPCookie, _ right: HTTPCookie) -> Bool {
        left.name == right.name && left.domain.lowercased() == right.domain.lowercased() && left.path == right.path
    }

    /// As in curl, a file that does not exist has no cookies, and an empty name no file.
    private func read(_ path: String, leavingOutSessions: Bool, host: String) throws(UsageError) {
        if path.isEmpty { return }
        let data: Data
        do throws(FileError) {
            data = try FileContents.readAll(path == "-" ? FileContents.standardInput : path)
        } catch {
            if error.code == ENOENT { return }
            throw UsageError("cannot read the cookies of '\(path)': \(error.reason)", exitCode: .readError)
        }
        for cookie in CookieFile.cookies(in: String(decoding: data, as: UTF8.self), host: host)
        where !leavingOutSessions || !cookie.isSessionOnly {
            storage.setCookie(cookie)
        }
    }

    /// All cookies for a file. Those that a text has replaced are kept, unless the server has set or removed them.
    var text: String {
        let cookies = storage.cookies ?? []
        let given = cookies.filter { $0.comment == CookieFile.commentOfText }
        let kept = replaced.filter { cookie in given.contains { Self.areSame($0, cookie) } }
        return CookieFile.text(of: cookies + kept)
    }

    /// Writes the file of `-c`, if there is one.
    func write() throws(FileError) {
        guard let path else { return }
        if path == "-" { return try OutputDescriptor.standardOutput.write(text) }
        try PrivateFile.replace(path, with: Data(text.utf8))
    }
}

extension CommandLineRequest {
    /// Whether cookies are kept in a storage, or sent as the text of `-b` only.
    var usesCookieStorage: Bool {
        cookieJar != nil || session != nil || cookieSources.contains { !$0.contains("=") }
    }

    /// The values of `-H Cookie`, which are cookies as those of `-b` if there is a storage.
    var cookieFields: [String] {
        headers.compactMap { edit in
            if case .set(let name, let value) = edit, name.lowercased() == "cookie" { value } else { nil }
        }
    }
}
