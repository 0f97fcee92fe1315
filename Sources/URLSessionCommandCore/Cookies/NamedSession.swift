import Foundation
import URLLoading

/// What `--session` keeps for an origin between two runs: cookies, the user, and header fields.
package struct NamedSession: Codable, Equatable {
    /// The session that the command line names.
    package struct Selection: Equatable, Sendable {
        package var name: String
        package var isReadOnly: Bool

        static func named(_ name: String, isReadOnly: Bool) throws(UsageError) -> Selection {
            let isPath = name.contains("/")
            let allowed = name.utf8.allSatisfy { byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
                default: "-_.".utf8.contains(byte)
                }
            }
            guard !name.isEmpty, isPath || allowed && !name.hasPrefix(".") else {
                throw UsageError(
                    "--session needs a name of letters, digits, - _ and ., or a path with /, not '\(name)'")
            }
            return Selection(name: name, isReadOnly: isReadOnly)
        }
    }

    struct Field: Codable, Equatable {
        var name: String
        var value: String
    }

    private var version = 1
    /// Nothing of the session is sent to another origin.
    private let origin: String
    var fields: [Field] = []
    /// As `-u` has it.
    var user: String?
    /// As `--oauth2-bearer` has it.
    var bearer: String?
    /// In Netscape's format.
    var cookies = ""

    init(origin: String) { self.origin = origin }

    /// The scheme, host and port of a URL, as a file name: of other bytes than letters, digits, `-`, `_` and `.`, which
    /// a decoded host may contain, the code is used.
    static func origin(of url: URL) -> String {
        let scheme = (url.scheme ?? "").lowercased()
        let port = url.port ?? (scheme == "https" ? 443 : 80)
        let text = "\(scheme)_\((url.host ?? "").lowercased())_\(port)"
        return PercentCoding.encoded(Array(text.utf8)) { byte in
            switch byte {
            case 0x30...0x39, 0x61...0x7A: true
            default: "-_.".utf8.contains(byte)
            }
        }
    }

    /// The file of a session. A session belongs to an origin.
    static func path(_ selection: Selection, _ url: URL, _ environment: [String: String]) throws(UsageError) -> String {
        if selection.name.contains("/") { return selection.name }
        guard let folder = UserFolders.configuration(environment) else {
            throw UsageError("--session: there is no home folder; name a file with a / in its path")
        }
        return "\(folder)/sessions/\(origin(of: url))/\(selection.name).json"
    }

    /// Empty if there is no file.
    static func read(_ path: String, origin: String) throws(UsageError) -> NamedSession {
        let data: Data
        do throws(FileError) {
            data = try FileContents.readAll(path)
        } catch {
            if error.code == ENOENT { return NamedSession(origin: origin) }
            throw UsageError("cannot read the session '\(path)': \(error.reason)", exitCode: .readError)
        }
        guard let session = try? JSONDecoder().decode(NamedSession.self, from: data), session.version == 1 else {
            throw UsageError("'\(path)' is not a session of urlsession: remove it", exitCode: .readError)
        }
        guard session.origin == origin else {
            throw UsageError("the session '\(path)' belongs to \(session.origin), not to \(origin): use another name")
        }
        return session
    }

    /// Creates the folders that are missing.
    func write(_ path: String) throws(FileError) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(self) else { throw FileError(path: path, code: EINVAL) }
        try Folders.create(forFile: path, mode: 0o700)
        try PrivateFile.replace(path, with: data + Data("\n".utf8))
    }

    // MARK: The command line

    /// Adds what is kept to the command line, which takes precedence.
    func apply(to command: inout CommandLineRequest) {
        let kept = fields.map { CommandLineRequest.HeaderEdit.set(name: $0.name, value: $0.value) }
        command.headers = kept.filter { !command.sets($0.name) } + command.headers
        if command.user == nil, command.bearer == nil, !command.sets("Authorization") {
            command.user = user
            command.bearer = bearer
        }
    }

    /// Takes over what the command line sets. Fields about one body or one condition are not kept.
    mutating func update(from command: CommandLineRequest) {
        for edit in command.headers {
            let name = edit.name.lowercased()
            if name.hasPrefix("content-") || name.hasPrefix("if-") || ["cookie", "range"].contains(name) { continue }
            fields.removeAll { $0.name.lowercased() == name }
        }
        for case .set(let name, let value) in command.headers {
            let lower = name.lowercased()
            if lower.hasPrefix("content-") || lower.hasPrefix("if-") || ["cookie", "range"].contains(lower) {
                continue
            }
            fields.append(Field(name: name, value: value))
        }
        if command.user != nil || command.bearer != nil {
            user = command.user
            bearer = command.bearer
        }
    }
}

extension CommandLineRequest.HeaderEdit {
    var name: String {
        switch self {
        case .set(let name, _), .remove(let name): name
        }
    }
}

extension CommandLineRequest {
    fileprivate func sets(_ name: String) -> Bool { headers.contains { $0.name.lowercased() == name.lowercased() } }
}
