import Foundation
import TestSupport
import URLLoading

/// A delegate callback in comparable form, with task identifiers.
enum Call: Sendable, Hashable, CustomStringConvertible {
    case created(Int)
    case waiting(Int)
    case informational(Int, Int)
    case redirect(Int, Int)
    /// The date of a delayed request is reached.
    case delayed(Int)
    /// The task, method and realm, and the failure count.
    case challenge(Int, String, Int)
    /// A task and a status.
    case response(Int, Int)
    /// Adjacent pieces are joined before comparison.
    case data(Int, String)
    /// The sent and expected totals.
    case sent(Int, Int64, Int64)
    /// A body stream from this offset is needed.
    case needsStream(Int, Int64)
    /// The task was replaced by another one.
    case became(Int, Int)
    /// The offset and the expected total.
    case resumed(Int, Int64, Int64)
    /// The written and expected totals.
    case wrote(Int, Int64, Int64)
    /// A file with its size.
    case downloaded(Int, Int)
    /// Events of a stream.
    case readClosed(Int)
    case writeClosed(Int)
    case betterRoute(Int)
    /// The result of a read: data, end of stream, error.
    case read(String?, Bool, URLError.Code?)
    case written(URLError.Code?)
    /// The connection has become a pair of streams.
    case captured(Int)
    /// A WebSocket with its subprotocol.
    case opened(Int, String?)
    /// The peer's close code and reason.
    case closed(Int, Int, String?)
    /// The result of a send, a receive or a ping of a WebSocket.
    case result(String)
    /// A response with a body of this size will be cached.
    case willCache(Int, Int)
    case metrics(Int)
    case completed(Int, URLError.Code?)
    case invalid
    /// A background session has delivered everything that happened before.
    case finishedEvents
    /// A completion handler with its body, status and error.
    case handled(String?, Int?, URLError.Code?)

    var task: Int? {
        switch self {
        case .created(let task), .waiting(let task), .informational(let task, _), .redirect(let task, _),
            .delayed(let task),
            .response(let task, _), .data(let task, _), .sent(let task, _, _), .wrote(let task, _, _),
            .resumed(let task, _, _), .challenge(let task, _, _),
            .needsStream(let task, _), .became(let task, _),
            .downloaded(let task, _), .metrics(let task), .completed(let task, _), .readClosed(let task),
            .writeClosed(let task), .willCache(let task, _), .betterRoute(let task), .captured(let task),
            .opened(let task, _), .closed(let task, _, _):
            task
        case .invalid, .finishedEvents, .handled, .read, .written, .result: nil
        }
    }

    /// The name of the callback, without values.
    var kind: String { String(description.prefix { $0 != "(" }) }

    var isCompletion: Bool { if case .completed = self { true } else { false } }

    var description: String {
        switch self {
        case .created(let task): "created(\(task))"
        case .waiting(let task): "waiting(\(task))"
        case .informational(let task, let status): "informational(\(task), \(status))"
        case .redirect(let task, let status): "redirect(\(task), \(status))"
        case .delayed(let task): "delayed(\(task))"
        case .challenge(let task, let space, let failures): "challenge(\(task), \(space), \(failures))"
        case .response(let task, let status): "response(\(task), \(status))"
        case .data(let task, let text):
            text.utf8.count > 80 ? "data(\(task), \(text.utf8.count) bytes)" : "data(\(task), \(text))"
        case .sent(let task, let total, let expected): "sent(\(task), \(total) of \(expected))"
        case .needsStream(let task, let offset): "needsStream(\(task), from \(offset))"
        case .became(let task, let other): "became(\(task), \(other))"
        case .resumed(let task, let offset, let expected): "resumed(\(task), at \(offset) of \(expected))"
        case .wrote(let task, let total, let expected): "wrote(\(task), \(total) of \(expected))"
        case .downloaded(let task, let count): "downloaded(\(task), \(count) bytes)"
        case .readClosed(let task): "readClosed(\(task))"
        case .writeClosed(let task): "writeClosed(\(task))"
        case .betterRoute(let task): "betterRoute(\(task))"
        case .read(let text, let isAtEnd, let code):
            "read(\(text ?? "nil"), \(isAtEnd), \(code.map { "\($0.rawValue)" } ?? "nil"))"
        case .written(let code): "written(\(code.map { "\($0.rawValue)" } ?? "nil"))"
        case .captured(let task): "captured(\(task))"
        case .opened(let task, let name): "opened(\(task), \(name ?? "nil"))"
        case .closed(let task, let code, let reason): "closed(\(task), \(code), \(reason ?? "nil"))"
        case .result(let text): "result(\(text))"
        case .willCache(let task, let count): "willCache(\(task), \(count) bytes)"
        case .metrics(let task): "metrics(\(task))"
        case .completed(let task, let code): "completed(\(task), \(code.map { "\($0.rawValue)" } ?? "nil"))"
        case .invalid: "invalid"
        case .finishedEvents: "finishedEvents"
        case .handled(let body, let status, let code):
            "handled(\(body ?? "nil"), \(status.map { "\($0)" } ?? "nil"), \(code.map { "\($0.rawValue)" } ?? "nil"))"
        }
    }
}

extension [Call] {
    /// The callbacks with adjacent data and progress joined.
    var joined: [Call] {
        var result: [Call] = []
        for call in self {
            switch (result.last, call) {
            case (.data(let task, let before)?, .data(let same, let more)) where task == same:
                result[result.count - 1] = .data(task, before + more)
            case (.wrote(let task, _, _)?, .wrote(let same, _, _)) where task == same,
                (.sent(let task, _, _)?, .sent(let same, _, _)) where task == same:
                result[result.count - 1] = call
            default:
                result.append(call)
            }
        }
        return result
    }

    func of(_ task: Int) -> [Call] { filter { $0.task == task } }

    var completionCount: Int { count { $0.isCompletion } }
}

extension EventRecorder<Call> {
    /// A completion handler that records its call.
    var handler: @Sendable (Data?, URLResponse?, (any Error)?) -> Void {
        { data, response, error in
            self.record(
                .handled(
                    data.map { String(decoding: $0, as: UTF8.self) }, (response as? HTTPURLResponse)?.statusCode,
                    error?.urlErrorCode))
        }
    }
}

extension Error {
    /// The code of a `URLError`.
    var urlErrorCode: URLError.Code? { (self as? URLError)?.code }
}
