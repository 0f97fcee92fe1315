package import LoadingPipeline

/// A message to the service. The first on each connection is `hello`. A library attaches to one session per connection;
/// an administrator (the command-line client) may send the commands of the second group.
package enum ServiceCommand: Codable, Equatable, Sendable {
    case hello(ServiceHello)

    // MARK: From the library

    /// Becomes the owner of the session, which is created if necessary. Answered by `attached` or `refused`.
    ///
    /// A session object that was attached before sends the number of its attachment. It is refused if another one has
    /// been attached since: its tasks and the numbers of its commands are those of the other one now.
    case attach(SessionDescription, again: UInt64?)
    // The following are numbered by their position: the first after `attached` has the number after
    // `SessionState.commands`. They are in the spool before they are sent. `committed` says how far they are in the
    // journal.

    /// A new task, suspended. Its identifier is new in the session. It ends with an error if it cannot be kept.
    case create(TransferDescription)
    case resume(task: Int)
    case suspend(task: Int)
    /// The task ends with −999, and with resume data if the load can produce them.
    case cancel(task: Int)
    case setPriority(task: Int, Float)
    case setTaskDescription(task: Int, String?)
    /// Seconds since 1970 (BG-17).
    case setEarliestBegin(task: Int, Double?)
    /// The bytes that the program expects to be transferred, −1 if unknown.
    case setExpectedBytes(task: Int, toSend: Int64, toReceive: Int64)
    case answer(task: Int, TransferAnswer)
    /// The delegate's decision on a delayed task (BG-17). `cancel` comes as `cancel(task:)`.
    case begin(task: Int, TransferRequest?)
    /// The end of the task was delivered up to this step.
    case acknowledge(task: Int, DeliveryStep)
    /// Whether the delegate decides about server trust, for transfers that start from now on.
    case setAsksServerTrust(Bool)
    /// The session is invalidated: its tasks go on, or are cancelled (BG-20). Answered by `invalidated`, after which it
    /// has no owner and the connection ends.
    case invalidate(cancelsTasks: Bool)
    /// The program has called the completion handler of its launch events.
    case handledEvents

    // MARK: From an administrator

    case list
    /// Like `list`, and changes from then on.
    case watch
    /// Answered by `described`.
    case describe(TransferReference)
    case control(TransferReference, TransferControl)
}

/// The first message of a client.
package struct ServiceHello: Codable, Equatable, Sendable {
    /// The versions of the protocol that the client supports.
    package var oldest: Int
    package var newest: Int
    /// The name of the application, to which session identifiers are local (S-22). Nil for an administrator.
    package var application: String?

    package init(
        application: String?, oldest: Int = ServiceProtocol.oldestVersion, newest: Int = ServiceProtocol.version
    ) {
        self.application = application
        self.oldest = oldest
        self.newest = newest
    }
}

package enum ServiceProtocol {
    /// Raised with each change that an older peer would misinterpret.
    package static let version = 4
    package static let oldestVersion = 4
    /// The limit for one message, in bytes. A longer one ends the connection.
    package static let largestMessage = 4 << 20
    /// The limit for a command of a program: what it contains has to fit in a notice, with other things.
    package static let largestCommand = 3 << 20
    /// The limit for the names of applications and sessions, in UTF-8 code units.
    static let longestName = 4096

    /// The newest version in common.
    package static func version(for hello: ServiceHello) -> Int? {
        let newest = min(version, hello.newest)
        return newest >= max(oldestVersion, hello.oldest) ? newest : nil
    }
}

/// How far the end of a task was delivered to a program.
package enum DeliveryStep: Int, Codable, Comparable, Sendable {
    case nothing
    /// `didFinishDownloadingTo` has returned, so the file is not needed any more.
    case file
    /// `didCompleteWithError` has returned.
    case end

    package static func < (left: DeliveryStep, right: DeliveryStep) -> Bool { left.rawValue < right.rawValue }
}

/// A transfer of any session, for administrators.
package struct TransferReference: Codable, Hashable, Sendable {
    package var application: String
    package var session: String
    package var task: Int

    package init(application: String, session: String, task: Int) {
        self.application = application
        self.session = session
        self.task = task
    }

    package var sessionReference: SessionReference { SessionReference(application: application, session: session) }
}

package enum TransferControl: Codable, Equatable, Sendable {
    case pause
    case resume
    /// Like the user's "force quit" (BG-13): −999 with reason 0.
    case cancel
}
