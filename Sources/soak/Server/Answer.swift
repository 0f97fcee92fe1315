import Foundation

/// What the server does with a request. The client writes it into the path, so each request brings its own script.
enum Answer: Sendable, Equatable {
    enum Framing: Int, Sendable, CaseIterable {
        case length
        case chunked
        case untilClose
        case deflate
    }

    /// Where in an exchange the server stops.
    enum Phase: Int, Sendable, CaseIterable {
        case withinRequest
        case afterRequest
        case withinHead
        case afterHead
        case withinBody
    }

    /// A whole response, after `milliseconds`.
    case body(size: Int, framing: Framing, after: Int)
    /// A whole response in pieces, with so many milliseconds between two of them.
    case paced(size: Int, pieces: Int, milliseconds: Int)
    /// A whole response, and the connection closed soon after it without an announcement.
    case thenClosed(size: Int, milliseconds: Int)
    /// Redirects, as many as that, and then a response.
    case redirect(times: Int, size: Int)
    /// `103 Early Hints` before the response.
    case informational(size: Int)
    /// The connection ends in the middle: reset, or closed in order.
    case cut(Phase, isReset: Bool)
    /// Something that is no HTTP.
    case garbage
    /// Nothing, until the client goes away.
    case silence
    /// A body of that size, as fast as the client takes it. What it took is counted.
    case counted(size: Int)
    /// A body that can be asked for from any place on, with so many microseconds after each 16 KiB. One that changes
    /// has three versions, and each holds for a while.
    case ranged(size: Int, pause: Int, isChanging: Bool)
    /// A small response with so many cookies of that many bytes, which last; the number makes their names.
    case cookies(count: Int, size: Int, number: Int)
    /// A response that is fresh for an hour; the number makes the address another.
    case cacheable(size: Int, number: Int)
    /// The sparse body of the request is looked at, and how much of it came as it should is told.
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
