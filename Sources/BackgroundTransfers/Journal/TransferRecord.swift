package import LoadingPipeline

/// A transfer as the journal has it.
package struct TransferRecord: Codable, Equatable, Sendable {
    package var application: String
    package var session: String
    package var description: TransferDescription
    package var isSuspended = true
    /// An administrator has paused it.
    package var isPaused = false
    /// When it was resumed first, in seconds since 1970, as `clock` says. The resource timeout counts from then.
    package var started: Double?
    /// Nil in journals of earlier versions.
    package private(set) var clock: MachineClock?
    /// Whether the delegate has decided on the delayed task (BG-17).
    package var isDecided = false
    /// The number of attempts that failed since the last progress.
    package var failures = 0
    /// The point at which the last attempt stopped.
    package var resumption: TransferResumption? {
        didSet { keepSyncedBytes(of: oldValue) }
    }
    /// The bytes of the file in `resumption` that are certain to be on disk, and the boot of the machine during which
    /// the others were written.
    package var syncedBytes: Int64 = 0
    package var boot = ""
    package var progress = TransferProgress()
    /// The most bytes that any attempt has transferred.
    package var furthest: Int64 = 0
    package var head: TransferHead?
    /// Why it is cancelled. A running transfer ends when its load has stopped, perhaps in another process.
    package var cancellation: Cancellation?
    package var end: TransferEnd?
    /// The last events. Nil in journals of earlier versions.
    package private(set) var history: [TransferEvent]?

    private static let longestHistory = 20

    package enum Cancellation: Codable, Equatable, Sendable {
        case byProgram
        /// The reason is a value of `NSURLErrorBackgroundTaskCancelledReasonKey`.
        case bySystem(reason: Int)
        /// It cannot be kept.
        case byService(TransferFailure)
    }

    package init(application: String, session: String, description: TransferDescription) {
        self.application = application
        self.session = session
        self.description = description
    }

    /// A transfer that a program has created, which may go on where another one has stopped. The program has
    /// synchronized its file.
    init(new description: TransferDescription, application: String, session: String, boot: String) {
        self.init(application: application, session: session, description: description)
        guard let resumption = description.request.resumption else { return }
        self.description.request.resumption = nil
        self.resumption = resumption
        if case .download(let part) = resumption { (syncedBytes, self.boot) = (part.bytesReceived, boot) }
    }

    /// Reads a date that was noted in this boot by the clock as it is now. Returns true if it has changed.
    ///
    /// One of an earlier boot stays: its clock may have been the right one.
    package mutating func follow(_ now: MachineClock) -> Bool {
        guard let started else {
            clock = now
            return false
        }
        guard let change = clock.flatMap({ now.change(since: $0) }) else { return false }
        self.started = started + change
        clock = now
        return true
    }

    package mutating func note(_ kind: TransferEvent.Kind, at time: Double) {
        history = (history ?? []).suffix(Self.longestHistory - 1) + [TransferEvent(kind, at: time)]
    }

    /// Another file has none of the synchronized bytes, and a file that was cut has only those before the cut.
    private mutating func keepSyncedBytes(of old: TransferResumption?) {
        guard case .download(let before)? = old, case .download(let now)? = resumption, before.path == now.path else {
            return syncedBytes = 0
        }
        syncedBytes = min(syncedBytes, now.bytesReceived)
    }

    /// The downloaded file, which must be on the disk, complete, before this record is in the journal.
    package var promisedFile: String? {
        // Later it is not needed any more, and may be removed.
        guard case .file(let path)? = end?.outcome, end?.delivered == .nothing else { return nil }
        return path
    }

    /// The file of an upload's body, which must be on the disk before the first record of the transfer is in the
    /// journal.
    package var neededBody: String? { end == nil ? description.request.bodyFile : nil }

    package var reference: TransferReference {
        TransferReference(application: application, session: session, task: description.task)
    }
    package var sessionReference: SessionReference { SessionReference(application: application, session: session) }
}

/// A session as the journal has it.
package struct SessionRecord: Codable, Equatable, Sendable {
    package var application: String
    package var description: SessionDescription
    package var nextIdentifier = 1
    /// The order of the next end.
    package var nextEnd: UInt64 = 1
    /// The number of the last command that was carried out.
    package var commands: UInt64 = 0
    /// Counts the session objects that were attached. Nil in journals of earlier versions.
    package var attachment: UInt64?
    /// When a program was attached last, in seconds since 1970.
    package var lastUsed = 0.0
    /// How often the program was launched without attaching, and when last, in seconds since 1970.
    package var launches = 0
    package var lastLaunch: Double?

    package init(application: String, description: SessionDescription) {
        self.application = application
        self.description = description
    }

    package var reference: SessionReference {
        SessionReference(application: application, session: description.identifier)
    }
}

package struct SessionReference: Codable, Hashable, Sendable {
    package var application: String
    package var session: String

    package init(application: String, session: String) {
        self.application = application
        self.session = session
    }
}

/// A change of the journal.
package enum JournalChange: Equatable, Sendable {
    case session(SessionRecord)
    /// With its transfers.
    case sessionRemoved(SessionReference)
    case transfer(TransferRecord)
    case transferRemoved(TransferReference)
}

package struct JournalContents: Equatable, Sendable {
    package var sessions: [SessionRecord]
    /// In the order of their creation.
    package var transfers: [TransferRecord]

    package init(sessions: [SessionRecord] = [], transfers: [TransferRecord] = []) {
        self.sessions = sessions
        self.transfers = transfers
    }
}

// MARK: The files that are needed

extension JournalContents {
    /// The paths of the files that its transfers refer to.
    var files: Set<String> { Set(transfers.flatMap(\.files)) }
}

extension TransferRecord {
    var files: [String] {
        var files = description.request.files
        if let path = resumption?.file { files.append(path) }
        switch end?.outcome {
        case .file(let path): files.append(path)
        case .failed(_, let resumption): if let path = resumption?.file { files.append(path) }
        default: break
        }
        return files
    }
}

extension ServiceCommand {
    /// The paths of the files that a transfer will refer to, once the command is carried out.
    var files: [String] {
        switch self {
        case .create(let description): description.request.files
        case .begin(_, let request?): request.files
        default: []
        }
    }
}

extension TransferRequest {
    fileprivate var files: [String] { [bodyFile, resumption?.file].compactMap(\.self) }
}

extension TransferResumption {
    fileprivate var file: String? {
        if case .download(let part) = self { part.path } else { nil }
    }
}
