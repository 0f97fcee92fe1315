// Prints server-sent events, and connects again when the connection is lost.
//
//     swift run event-stream https://example.org/events
import URLLoading

struct Event {
    var name = "message"
    var data: [String] = []
}

/// The state of a stream of events (WHATWG HTML, section 9.2).
struct EventParser {
    private var event = Event()
    private var line: [UInt8] = []
    private var endedWithCR = false
    var lastIdentifier = ""
    /// Seconds before the next connection.
    var pause = 3.0

    /// Takes a byte; returns an event if the byte ends one.
    mutating func take(_ byte: UInt8) -> Event? {
        let followsCR = endedWithCR
        endedWithCR = byte == UInt8(ascii: "\r")
        if byte == UInt8(ascii: "\n"), followsCR { return nil }
        guard byte == UInt8(ascii: "\n") || endedWithCR else {
            line.append(byte)
            return nil
        }
        defer { line.removeAll(keepingCapacity: true) }
        if line.isEmpty {
            defer { event = Event() }
            return event.data.isEmpty ? nil : event
        }
        let parts = line.split(separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false)
        let value = parts.count < 2 ? [] : parts[1].first == UInt8(ascii: " ") ? parts[1].dropFirst() : parts[1]
        let text = String(decoding: value, as: UTF8.self)
        switch String(decoding: parts[0], as: UTF8.self) {
        case "event": event.name = text
        case "data": event.data.append(text)
        case "id": lastIdentifier = text
        case "retry": pause = Double(text).map { $0 / 1000 } ?? pause
        // A comment, or an unknown field.
        default: break
        }
        return nil
    }
}

guard CommandLine.arguments.count == 2, let url = URL(string: CommandLine.arguments[1]) else {
    print("usage: event-stream URL")
    exit(2)
}
let configuration = URLSessionConfiguration.ephemeral
// Servers send a comment from time to time; after this many seconds of silence the connection counts as lost.
configuration.timeoutIntervalForRequest = 60
configuration.timeoutIntervalForResource = .infinity
let session = URLSession(configuration: configuration)
var lastIdentifier = ""
var pause = 3.0

while true {
    var request = URLRequest(url: url)
    request.setValue("text/event-stream", forHTTPHeaderField: "Accept")
    request.cachePolicy = .reloadIgnoringLocalCacheData
    if !lastIdentifier.isEmpty { request.setValue(lastIdentifier, forHTTPHeaderField: "Last-Event-ID") }
    var parser = EventParser()
    (parser.lastIdentifier, parser.pause) = (lastIdentifier, pause)
    do {
        let (bytes, response) = try await session.bytes(for: request)
        guard (response as? HTTPURLResponse)?.statusCode == 200, response.mimeType == "text/event-stream" else {
            print("no event stream")
            exit(1)
        }
        for try await byte in bytes {
            guard let event = parser.take(byte) else { continue }
            // At once, also to a pipe, unlike `print`.
            let text = "\(event.name): \(event.data.joined(separator: "\n"))\n"
            FileHandle.standardOutput.write(Data(text.utf8))
        }
    } catch {
        print(error.localizedDescription)
    }
    (lastIdentifier, pause) = (parser.lastIdentifier, parser.pause)
    try await Task.sleep(for: .seconds(pause))
}
