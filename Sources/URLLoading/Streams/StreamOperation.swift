internal import Foundation

/// What is asked of a stream task.
enum StreamOperation: Sendable {
    case read(least: Int, most: Int, timeout: Int64?, @Sendable (Data?, Bool, (any Error)?) -> Void)
    case write(Data, timeout: Int64?, @Sendable ((any Error)?) -> Void)
    case closeReading
    case closeWriting
    case secure
    case capture
}
