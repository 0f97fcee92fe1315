internal import Foundation

/// What the lane of a task carries to its caller, in order; the end travels apart.
enum TaskEvent {
    case waitingForConnectivity
    case informationalResponse(HTTPURLResponse)
    case redirect(HTTPURLResponse, proposed: URLRequest)
    case response(URLResponse)
    case data(Data)
    /// The delegate wants the body in a file.
    case becomeDownload
    case sentBody(count: Int64, total: Int64, expected: Int64)
    case resumed(offset: Int64, expected: Int64)
    case wroteData(count: Int64, total: Int64, expected: Int64)

    /// This event and the next in one, where both tell of the same progress.
    func merged(with next: TaskEvent) -> TaskEvent? {
        switch (self, next) {
        case (.sentBody(let before, _, _), .sentBody(let count, let total, let expected)):
            .sentBody(count: before + count, total: total, expected: expected)
        case (.wroteData(let before, _, _), .wroteData(let count, let total, let expected)):
            .wroteData(count: before + count, total: total, expected: expected)
        default: nil
        }
    }
}
