import Foundation
import TestSupport
import URLLoading

/// A moment in the life of a task, by what happens and how often that has happened before.
struct Checkpoint: Sendable, Hashable, CustomStringConvertible {
    var name: String
    var number: Int

    var description: String { number == 0 ? name : "\(name) #\(number)" }

    /// Whether the delegate is asked there, and nothing goes on before it has answered.
    var awaitsReply: Bool {
        ["created", "delayed", "challenge", "redirect", "needsStream", "response"].contains(name)
    }

    /// Whether it is one of the server's.
    var isServerSide: Bool { ["request", "half received"].contains(name) || isResponseSide }

    /// Whether the server is sending.
    var isResponseSide: Bool { ["head sent", "half sent"].contains(name) }
}

/// A way to stop a task.
enum StopMethod: Sendable, CaseIterable {
    case cancel
    /// `cancel(byProducingResumeData:)` of downloads and uploads; of other tasks `cancel()`.
    case cancelForLater
    case suspendAndCancel
    case invalidateSession
    /// Cancels the Swift task that awaits the load; where nobody awaits it, `cancel()`.
    case cancelSwiftTask
    /// At a moment of the server's: it closes the connection. That is no wish of the caller's.
    case breakConnection

    /// What a caller can do.
    static let callerMethods = allCases.filter { $0 != .breakConnection }
}

/// When, how and from where a task is stopped.
struct StopPlan: Sendable, CustomStringConvertible {
    var checkpoint: Checkpoint
    var stop: StopMethod
    /// On the thread where the moment happens, which for calls is that of the delegate; else on another one, beside it.
    var isWithin: Bool

    var description: String { "\(stop) \(isWithin ? "within" : "beside") \(checkpoint)" }
}
