package import LoadingPipeline

/// A message from the service.
package enum ServiceNotice: Codable, Equatable, Sendable {
    /// The reply to `hello`.
    case welcome(ServiceWelcome)
    /// The connection ends after this.
    case refused(ServiceRefusal)

    // MARK: To the owner of a session

    /// The reply to `attach`. The tasks follow as `task`, in the order of their identifiers, then `listed`. Ends that
    /// were not delivered completely follow as `ended`, in their order.
    case attached(SessionState)
    case task(TransferState)
    case listed
    /// The commands up to this number are in the journal.
    case committed(UInt64)
    /// Of a running transfer: response, progress, challenges.
    case report(task: Int, TransferReport)
    /// The transfer starts again: its counters are those of the bytes that are kept (S-96).
    case restarted(task: Int, TransferProgress)
    /// A delayed task is due, and waits for `begin` or `cancel` (BG-17).
    case due(task: Int)
    case ended(task: Int, TransferEnd)
    /// Everything that happened while no program was attached has been sent (BG-12).
    case replayed
    case invalidated

    // MARK: To an administrator

    /// Of the reply to `list` and `watch`, which ends with `listed`.
    case transfers([ListedTransfer])
    case changed(ListedTransfer)
    case removed(TransferReference)
    /// The reply to `describe`: nil if there is no such transfer.
    case described(TransferReference, DescribedTransfer?)
    /// The reply to `control`: whether there is such a transfer that can be controlled.
    case controlled(TransferReference, Bool)
}

extension ServiceNotice {
    /// Without what a program can do without: the fields of a response, and metrics.
    var shortened: ServiceNotice {
        switch self {
        case .task(var state):
            state.head?.fields = []
            return .task(state)
        case .report(let task, var report):
            if case .response(var head, let expected, let offset) = report.event {
                head.fields = []
                report.event = .response(head, expectedLength: expected, resumedOffset: offset)
            }
            return .report(task: task, report)
        case .ended(let task, var end):
            end.head?.fields = []
            end.metrics = nil
            return .ended(task: task, end)
        default: return self
        }
    }
}

package struct ServiceWelcome: Codable, Equatable, Sendable {
    /// The version that both ends use from now on.
    package var version: Int
    /// The service's executable.
    package var program: String
    package var process: Int32

    package init(version: Int, program: String, process: Int32) {
        self.version = version
        self.program = program
        self.process = process
    }
}

package enum ServiceRefusal: Codable, Equatable, Sendable {
    /// Another process owns the session (BG-7): −996.
    case sessionInUse
    /// No version in common. The versions are those of the service.
    case version(oldest: Int, newest: Int, program: String)
    /// The journal cannot be used: −997 with the reason.
    case journal(String)
    case invalidMessage
}

/// A session as the service knows it.
package struct SessionState: Codable, Equatable, Sendable {
    /// Counts the session objects that were attached.
    package var attachment: UInt64
    /// The first free task identifier: one of `nextIdentifiers`, unless all are used.
    package var nextIdentifier: Int
    /// The number of the last command that was carried out. The next one, after `attach`, has the number after it.
    package var commands: UInt64
    /// The path of the file to which the library appends its commands before it sends them.
    package var spool: String
    /// The folder for the private copies of uploads.
    package var uploads: String
    /// Whether the program was launched for the session's events.
    package var isLaunched: Bool
    /// Whether handshakes wait for the delegate's decision about server trust.
    package var asksServerTrust = false

    /// As many numbers are left for tasks as no program creates.
    package static let nextIdentifiers = 1...Int.max / 2

    package init(
        attachment: UInt64, nextIdentifier: Int, commands: UInt64, spool: String, uploads: String, isLaunched: Bool
    ) {
        self.attachment = attachment
        self.nextIdentifier = nextIdentifier
        self.commands = commands
        self.spool = spool
        self.uploads = uploads
        self.isLaunched = isLaunched
    }
}

/// A task of an attached session.
package struct TransferState: Codable, Equatable, Sendable {
    package var description: TransferDescription
    package var isSuspended: Bool
    package var progress: TransferProgress
    package var head: TransferHead?
    /// The number of the last report, and the challenge that waits for an answer.
    package var lastReport: UInt64
    package var challenge: TransferChallenge?
    /// Whether the delegate has to decide on the delayed task.
    package var isDue: Bool

    package init(
        description: TransferDescription, isSuspended: Bool, progress: TransferProgress = TransferProgress(),
        head: TransferHead? = nil, lastReport: UInt64 = 0, challenge: TransferChallenge? = nil, isDue: Bool = false
    ) {
        self.description = description
        self.isSuspended = isSuspended
        self.progress = progress
        self.head = head
        self.lastReport = lastReport
        self.challenge = challenge
        self.isDue = isDue
    }
}

/// The end of a transfer, until it was delivered to a program.
package struct TransferEnd: Codable, Equatable, Sendable {
    /// The position among the ends of the session, from 1.
    package var order: UInt64
    package var head: TransferHead?
    package var progress: TransferProgress
    package var outcome: Outcome
    package var metrics: TransferMetrics?
    /// How far the end was delivered.
    package var delivered: DeliveryStep

    // Journals of the first version have these names.
    private enum CodingKeys: String, CodingKey {
        case order, head, progress, outcome, metrics
        case delivered = "told"
    }

    package enum Outcome: Codable, Equatable, Sendable {
        /// The path of the file with the body of the response.
        case file(String)
        case failed(TransferFailure, TransferResumption?)
        /// Cancelled by the system, with the value of `NSURLErrorBackgroundTaskCancelledReasonKey` (BG-13).
        case cancelledBySystem(reason: Int)
    }

    package init(
        order: UInt64, head: TransferHead?, progress: TransferProgress, outcome: Outcome, metrics: TransferMetrics?,
        delivered: DeliveryStep = .nothing
    ) {
        self.order = order
        self.head = head
        self.progress = progress
        self.outcome = outcome
        self.metrics = metrics
        self.delivered = delivered
    }
}

/// A transfer for people.
package struct ListedTransfer: Codable, Equatable, Sendable {
    package var reference: TransferReference
    package var url: String
    package var isUpload: Bool
    package var taskDescription: String?
    package var status: Status
    package var progress: TransferProgress
    /// Nil if it does not run.
    package var bytesPerSecond: Double?

    package enum Status: Codable, Equatable, Sendable {
        case suspended
        case queued
        case running
        /// Seconds since 1970.
        case waitingUntil(Double)
        case waitingForNetwork
        case waitingForPower
        case waitingForUnmeteredNetwork
        case waitingForApplication
        /// The next attempt, in seconds since 1970, after this error.
        case retrying(at: Double, code: Int)
        case finished
        case failed(code: Int)
    }

    package init(
        reference: TransferReference, url: String, isUpload: Bool, taskDescription: String?, status: Status,
        progress: TransferProgress, bytesPerSecond: Double? = nil
    ) {
        self.reference = reference
        self.url = url
        self.isUpload = isUpload
        self.taskDescription = taskDescription
        self.status = status
        self.progress = progress
        self.bytesPerSecond = bytesPerSecond
    }
}

/// What the service knows of one transfer.
package struct DescribedTransfer: Codable, Equatable, Sendable {
    package var transfer: ListedTransfer
    /// The last events, the oldest first.
    package var history: [TransferEvent]

    package init(transfer: ListedTransfer, history: [TransferEvent]) {
        self.transfer = transfer
        self.history = history
    }
}

/// An event in the life of a transfer.
package struct TransferEvent: Codable, Equatable, Sendable {
    package enum Kind: Codable, Equatable, Sendable {
        case resumed
        case suspended
        /// An attempt that begins after so many bytes.
        case began(offset: Int64)
        /// An attempt that failed with that code. Another one follows.
        case failed(code: Int)
        /// The end: nil for success.
        case ended(code: Int?)
    }

    package var kind: Kind
    /// Seconds since 1970.
    package var time: Double

    package init(_ kind: Kind, at time: Double) {
        self.kind = kind
        self.time = time
    }
}
