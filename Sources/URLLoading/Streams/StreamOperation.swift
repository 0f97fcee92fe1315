internal import Foundation

/// An operation of a stream task.
enum StreamOperation: Sendable {
    case read(least: Int, most: Int, timeout: Int64?, @Sendable (Data?, Bool, (any Error)?) -> Void)
    case write(Data, timeout: Int64?, @Sendable ((any Error)?) -> Void)
    case closeReading
    case closeWriting
    case secure
    case capture

    /// Calls a completion handler in order with the task's other callbacks. Used on the loop, once.
    typealias Answerer = @Sendable (_ call: @escaping @Sendable () -> Void) -> Void

    /// The operation with its handler called through `answerer`, which is evaluated only if there is a handler.
    func answered(by answerer: @autoclosure () -> Answerer) -> StreamOperation {
        switch self {
        case .read(let least, let most, let timeout, let handler):
            let answerer = answerer()
            return .read(least: least, most: most, timeout: timeout) { data, isAtEnd, error in
                answerer { handler(data, isAtEnd, error) }
            }
        case .write(let data, let timeout, let handler):
            let answerer = answerer()
            return .write(data, timeout: timeout) { error in answerer { handler(error) } }
        case .closeReading, .closeWriting, .secure, .capture: return self
        }
    }
}
