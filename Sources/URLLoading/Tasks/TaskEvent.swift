internal import Foundation

/// What the lane of a task carries to its caller, in order; the end travels apart.
enum TaskEvent {
    case waitingForConnectivity
    case informationalResponse(HTTPURLResponse)
    case redirect(HTTPURLResponse, proposed: URLRequest)
    case response(URLResponse)
    case data(Data)
    case sentBody(count: Int64, total: Int64, expected: Int64)
}
