import Foundation

/// The server's behaviour for a request. The client encodes it in the path.
enum ServerScript: Sendable, Equatable {
    enum Framing: Int, Sendable, CaseIterable {
        case length
        case chunked
        case untilClose
        case deflate
    }

    /// The point in an exchange at which the server stops.
    enum Phase: Int, Sendable, CaseIterable {
        case withinRequest
        case afterRequest
        case withinHead
        case afterHead
        case withinBody
    }

    /// A complete response after a delay in milliseconds.
    case body(size: Int, framing: Framing, after: Int)
    /// A complete response in pieces, with a delay in milliseconds between them.
    case paced(size: Int, pieces: Int, milliseconds: Int)
    /// A complete response. The connection is closed soon afterwards, without announcement.
    case thenClosed(size: Int, milliseconds: Int)
    /// So many redirects, then a response.
    case redirect(times: Int, size: Int)
    /// `103 Early Hints` before the response.
    case informational(size: Int)
    /// The connection is reset or closed in the middle.
    case cut(Phase, isReset: Bool)
    /// Not HTTP.
    case garbage
    /// No response until the client closes the connection.
    case silence
    /// A body of that size, as fast as the client accepts it. The accepted bytes are counted.
    case counted(size: Int)
    /// A body that supports ranges, with a pause in microseconds after each 16 KiB. If it changes, it has three
    /// versions in turn.
    case ranged(size: Int, pause: Int, isChanging: Bool)
    /// A small response with persistent cookies of that size. Their names contain `number`.
    case cookies(count: Int, size: Int, number: Int)
    /// A response that is fresh for an hour. `number` makes the URL distinct.
    case cacheable(size: Int, number: Int)
    /// Checks the sparse body of the request, and responds with the number of correct bytes.
    case upload(size: Int)

    var path: String {
        switch self {
        case .body(let size, let framing, let after): "/body/\(size)/\(framing.rawValue)/\(after)"
        case .paced(let size, let pieces, let milliseconds): "/paced/\(size)/\(pieces)/\(milliseconds)"
        case .thenClosed(let size, let milliseconds): "/thenClosed/\(size)/\(milliseconds)"
        case .redirect(let times, let size): "/redirect/\(times)/\(size)"
        case .informational(let size): "/informational/\(size)"
        case .cut(let phase, let isReset): "/cut/\(phase.rawValue)/\(isReset ? 1 : 0)"
        case .garbage: "/garbage"
        case .silence: "/silence"
        case .counted(let size): "/counted/\(size)"
        case .ranged(let size, let pause, let isChanging): "/ranged/\(size)/\(pause)/\(isChanging ? 1 : 0)"
        case .cookies(let count, let size, let number): "/cookies/\(count)/\(size)/\(number)"
        case .cacheable(let size, let number): "/cacheable/\(size)/\(number)"
        case .upload(let size): "/upload/\(size)"
        }
    }

    init?(path: Substring) {
        let parts = path.split(separator: "/")
        let numbers = parts.dropFirst().compactMap { Int($0) }
        guard let name = parts.first, numbers.count == parts.count - 1 else { return nil }
        switch (name, numbers.count) {
        case ("body", 3):
            guard let framing = Framing(rawValue: numbers[1]) else { return nil }
            self = .body(size: numbers[0], framing: framing, after: numbers[2])
        case ("paced", 3): self = .paced(size: numbers[0], pieces: numbers[1], milliseconds: numbers[2])
        case ("thenClosed", 2): self = .thenClosed(size: numbers[0], milliseconds: numbers[1])
        case ("redirect", 2): self = .redirect(times: numbers[0], size: numbers[1])
        case ("informational", 1): self = .informational(size: numbers[0])
        case ("cut", 2):
            guard let phase = Phase(rawValue: numbers[0]) else { return nil }
            self = .cut(phase, isReset: numbers[1] == 1)
        case ("garbage", 0): self = .garbage
        case ("silence", 0): self = .silence
        case ("counted", 1): self = .counted(size: numbers[0])
        case ("ranged", 3): self = .ranged(size: numbers[0], pause: numbers[1], isChanging: numbers[2] == 1)
        case ("cookies", 3): self = .cookies(count: numbers[0], size: numbers[1], number: numbers[2])
        case ("cacheable", 2): self = .cacheable(size: numbers[0], number: numbers[1])
        case ("upload", 1): self = .upload(size: numbers[0])
        default: return nil
        }
    }
}
