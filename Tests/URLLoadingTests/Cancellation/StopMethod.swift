import Foundation
import TestSupport
import URLLoading

/// A point in the life of a task: an event and its ordinal.
struct Checkpoint: Sendable, Hashable, CustomStringConvertible {
    var name: String
    var number: Int

    var description: String { number == 0 ? name : "\(name) #\(number)" }

    /// Whether the task waits for the delegate's answer at this point.
    var awaitsReply: Bool {
        ["created", "delayed", "challenge", "redirect", "needsStream", "response"].contains(name)
    }

    /// Whether this is an event of the server.
    var isServerSide: Bool { ["request", "half received"].contains(name) || isResponseSide }

    /// Whether the server is sending.
    var isResponseSide: Bool { ["head sent", "half sent"].contains(name) }
}

/// How a task is stopped.
enum StopMethod: Sendable, CaseIterable {
    case cancel
    /// `cancel(byProducingResumeData:)` for downloads and uploads; `cancel()` for other tasks.
    case cancelForLater
    case suspendAndCancel
    case invalidateSession
    /// Cancels the Swift task that awaits the load; `cancel()` for other tasks.
    case cancelSwiftTask
    /// The server closes the connection, at a checkpoint of the server.
    case breakConnection

    /// The methods of the client.
    static let callerMethods = allCases.filter { $0 != .breakConnection }
}

/// When, how and from where a task is stopped.
struct StopPlan: Sendable, CustomStringConvertible {
    var checkpoint: Checkpoint
    var stop: StopMethod
    /// Whether to stop on the thread of the checkpoint (for callbacks, the delegate's), or concurrently on another one.
    var isWithin: Bool

    var description: String { "\(stop) \(isWithin ? "within" : "beside") \(checkpoint)" }
}
