internal import LoadingEvents
internal import LoadingPipeline
internal import LoadingSemantics

/// The received messages that are unread, and the calls of `receive` that wait. Guarded by the task's lock, so
/// `receive` needs no other thread.
///
/// At most about `readAhead` octets are kept; then reading stops until half of them are taken.
struct WebSocketInbox {
    typealias Message = URLSessionWebSocketTask.Message

    /// A call of `receive`.
    struct Receiver {
        typealias Handler = @Sendable (Result<Message, any Error>) -> Void

        let caller: TaskCaller
        /// Whether the end of the task waits for the call of the handler.
        let isPromised: Bool
        let handler: Handler
    }

    private var messages = FIFOQueue<(message: Message, octets: Int)>()
    private var unreadOctets = 0
    private var receivers = FIFOQueue<Receiver>()
    private var isReadingStopped = false
    /// Whether the end of the connection waits until the messages are taken.
    private var isEndAwaited = false
    /// Whether the last message went to the caller of an `async` method that has not asked for another one.
    private var isCallerResuming = false
    /// Set while the load is suspended; messages are then kept even if a receiver waits.
    var isHeld = false
    /// The error of calls that come too late; nil until the end. Messages that were received before can still be taken.
    private(set) var lateError: LoadError?

    /// In octets of messages, and in messages, which may be empty.
    private static let readAhead = 64 * 1024
    private static let mostUnread = 1024

    /// The receiver of a message that has just arrived; nil if it has to be kept.
    ///
    /// - Parameter isHeld: Whether the task is suspended, which may not have reached the load yet.
    mutating func takeReceiver(isHeld: Bool) -> Receiver? {
        // Messages that were held come first: the load may not know yet that the task was suspended and is running
        // again.
        !isHeld && !self.isHeld && messages.isEmpty ? nextReceiver() : nil
    }

    private mutating func nextReceiver() -> Receiver? {
        guard let receiver = receivers.popFirst() else { return nil }
        isCallerResuming = receiver.caller == .continuation && receivers.isEmpty
        return receiver
    }

    /// Keeps a message for a later call.
    mutating func keep(_ message: consuming Message, octets: Int) {
        messages.append((message, octets))
        unreadOctets += octets
        if unreadOctets >= Self.readAhead || messages.count >= Self.mostUnread { isReadingStopped = true }
    }

    /// Whether reading is to go on.
    var wantsMore: Bool { !isReadingStopped }

    /// The server has closed, and nothing more comes. What the end waits for; the load must then be notified of each
    /// message that is taken, and of each call.
    mutating func awaitEnd() -> AwaitedTaking {
        let awaited: AwaitedTaking = !messages.isEmpty ? .messages : isCallerResuming ? .caller : .nothing
        isEndAwaited = awaited != .nothing
        return awaited
    }

    /// The next message for a new call, if no earlier one waits. `mustRead` if the load must be notified: reading may
    /// go on again, or the end waits.
    mutating func takeMessage(for caller: TaskCaller) -> (message: Message, mustRead: Bool)? {
        guard !isHeld, receivers.isEmpty, let (message, octets) = messages.popFirst() else { return nil }
        isCallerResuming = caller == .continuation
        unreadOctets -= octets
        return (message, mayReadAgain())
    }

    private mutating func mayReadAgain() -> Bool {
        if isEndAwaited { return true }
        guard isReadingStopped, unreadOctets < Self.readAhead / 2, messages.count < Self.mostUnread / 2 else {
            return false
        }
        isReadingStopped = false
        return true
    }

    /// True if the load must be notified.
    @discardableResult
    mutating func wait(_ receiver: Receiver) -> Bool {
        receivers.append(receiver)
        isCallerResuming = false
        return isEndAwaited
    }

    /// The next waiting call and its message, after the messages were held. `mustRead` as of `takeMessage`.
    mutating func match() -> (receiver: Receiver, message: Message, mustRead: Bool)? {
        guard !isHeld, !receivers.isEmpty, let (message, octets) = messages.popFirst(),
            let receiver = nextReceiver()
        else { return nil }
        unreadOctets -= octets
        return (receiver, message, mayReadAgain())
    }

    mutating func dropMessages() {
        messages = FIFOQueue()
        unreadOctets = 0
    }

    /// Returns the calls that wait: those that get a message which was held, and those that fail.
    mutating func end(
        _ error: LoadError
    ) -> (answered: [(receiver: Receiver, message: Message)], failed: FIFOQueue<Receiver>) {
        lateError = error
        (isHeld, isEndAwaited) = (false, false)
        var answered: [(receiver: Receiver, message: Message)] = []
        while let (receiver, message, _) = match() { answered.append((receiver, message)) }
        defer { receivers = FIFOQueue() }
        return (answered, receivers)
    }
}
