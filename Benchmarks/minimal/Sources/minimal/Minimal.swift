import Foundation
import FoundationNetworking

/// Loads the URL that is its argument. The exit status is 0 if the response has five bytes.
@main enum Minimal {
    static func main() async throws {
        guard let text = CommandLine.arguments.dropFirst().first, let url = URL(string: text) else { exit(2) }
        let (data, _) = try await URLSession.shared.data(from: url)
        exit(data.count == 5 ? 0 : 1)
    }
}
