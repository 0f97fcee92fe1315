internal import Foundation

/// What a server writes into a file: a line for each request, which begins with a name for its connection. The names are
/// unique in one life of the server.
struct ServerLog: Sendable {
    private let file: URL
    private let entry: @Sendable (Substring) -> (connection: String, words: String)?

    private static let lifeBegins = "----"

    /// - Parameter entry: What a line says, or nil if it is about something else. Without it the first word of each line is
    ///   the name of the connection.
    init(
        _ file: URL,
        entry: @escaping @Sendable (Substring) -> (connection: String, words: String)? = { line in
            let parts = line.split(separator: " ", maxSplits: 1).map(String.init)
            return parts.count == 2 ? (parts[0], parts[1]) : nil
        }
    ) {
        self.file = file
        self.entry = entry
    }

    /// The server has ended, and will be started again.
    func lifeEnded() throws {
        let handle = try FileHandle(forWritingTo: file)
        defer { try? handle.close() }
        try handle.seekToEnd()
        try handle.write(contentsOf: Data("\(Self.lifeBegins)\n".utf8))
    }

    /// Each line with the number of its connection, in the order of first use, from 1.
    var lines: [(connection: Int, words: String)] {
        let text = (try? String(contentsOf: file, encoding: .utf8)) ?? ""
        var numbers: [String: Int] = [:]
        var life = 0
        return text.split(separator: "\n").compactMap { line in
            if line == Self.lifeBegins { life += 1 }
            guard let (connection, words) = entry(line) else { return nil }
            let name = "\(life) \(connection)"
            let number = numbers[name] ?? numbers.count + 1
            numbers[name] = number
            return (number, words)
        }
    }

    var connectionCount: Int { Set(lines.map(\.connection)).count }
}
