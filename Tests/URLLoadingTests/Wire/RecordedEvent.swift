import URLLoading

/// A delegate callback of one load, in comparable form.
enum RecordedEvent: Sendable, Equatable, CustomStringConvertible {
    /// An informational response, by its status.
    case informational(Int)
    /// The response, by its status.
    case response(Int)
    case data([UInt8])
    /// The end, with the code of the error.
    case completed(Int?)
    /// An error with a wrong failing URL.
    case wrongFailingURL(String)
    /// The session is invalid: no more callbacks.
    case invalid

    static func data(_ text: String) -> RecordedEvent { .data(Array(text.utf8)) }

    static func failed(_ code: URLError.Code) -> RecordedEvent { .completed(code.rawValue) }

    static var succeeded: RecordedEvent { .completed(nil) }

    var description: String {
        switch self {
        case .informational(let status): "informational(\(status))"
        case .response(let status): "response(\(status))"
        case .data(let bytes):
            bytes.count > 64 ? "data(\(bytes.count) bytes)" : "data(\(String(decoding: bytes, as: UTF8.self)))"
        case .completed(let code): "completed(\(code.map(String.init) ?? "nil"))"
        case .wrongFailingURL(let url): "wrongFailingURL(\(url))"
        case .invalid: "invalid"
        }
    }
}

extension [RecordedEvent] {
    /// The events with the pieces of a body joined.
    var joined: [RecordedEvent] {
        reduce(into: []) { result, next in
            if case .data(let more) = next, case .data(let before)? = result.last {
                result[result.count - 1] = .data(before + more)
            } else {
                result.append(next)
            }
        }
    }

    /// The whole body.
    var body: [UInt8] {
        flatMap { recorded -> [UInt8] in if case .data(let bytes) = recorded { bytes } else { [] } }
    }
}
