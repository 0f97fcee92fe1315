internal import Foundation

/// A log file with a line for each request, which begins with an identifier of its connection.
struct ServerLog: Sendable {
    private let file: URL

    init(_ file: URL) { self.file = file }

    /// Each line with the number of its connection in order of first use, from 1.
    var lines: [(connection: Int, words: String)] {
        let text = (try? String(contentsOf: file, encoding: .utf8)) ?? ""
        var numbers: [String: Int] = [:]
        return text.split(separator: "\n").compactMap { line in
            let parts = line.split(separator: " ", maxSplits: 1).map(String.init)
            guard parts.count == 2 else { return nil }
            let number = numbers[parts[0]] ?? numbers.count + 1
            numbers[parts[0]] = number
            return (number, parts[1])
        }
    }
}
