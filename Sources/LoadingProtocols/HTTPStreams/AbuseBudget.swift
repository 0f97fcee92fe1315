/// How much work a peer may cause that serves no request.
///
/// The unit is one frame of HTTP/2, or one datagram of HTTP/3. Each costs a unit. Requests, responses, bodies and
/// this side's own PINGs add units. A useful connection can therefore live forever, and a useless one ends after a few
/// thousand frames.
struct AbuseBudget: Equatable {
    /// The initial budget, and its usual maximum: enough for days of PING frames on an idle connection.
    static let maximum = 10_000
    /// Added for a request and for its response: the settings, PINGs and window updates around them.
    static let perRequest = 32
    /// Added for a piece of content, in either direction: the window updates or acknowledgements that it causes.
    static let perContent = 4
    /// Added for a PING of this side: its acknowledgement, also if it is lost and repeated.
    static let perPing = 4
    /// The bytes of an open window that add one unit. A server may send them after the client has lost interest in
    /// them, and before a lost datagram is repeated.
    static let windowBytesPerUnit = 1_024
    /// The maximum that open windows can raise the budget to.
    static let maximumFromWindows = 32_768

    private var left = maximum

    mutating func add(_ count: Int) {
        left = max(left, min(left &+ count, Self.maximum))
    }

    /// Adds for an open window of so many bytes.
    mutating func addWindow(_ bytes: Int) {
        left = max(left, min(left &+ bytes / Self.windowBytesPerUnit, Self.maximumFromWindows))
    }

    /// False if the budget is exceeded.
    mutating func spend(_ count: Int) -> Bool {
        left &-= count
        return left >= 0
    }
}
