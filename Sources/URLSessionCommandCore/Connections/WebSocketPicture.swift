package import LoadingEvents

/// Draws the course of a WebSocket for `-v`, a line for each event: direction, seconds since the opening, kind, size.
///
///     * WebSocket open, subprotocol [redacted]
///     >    +0.012 s  text, 5 bytes
///     <    +0.034 s  text, 5 bytes
package struct WebSocketPicture: Sendable {
    private var opened: Int64?
    private var hasClosed = false
    private let showsSecrets: Bool

    /// - Parameter showsSecrets: Whether the subprotocol is shown, which may be a token (`SecretFields`).
    package init(showsSecrets: Bool) { self.showsSecrets = showsSecrets }

    /// The line of an event; nil if it does not belong to a WebSocket.
    package mutating func line(for event: LoadEvent) -> String? {
        switch event.kind {
        case .webSocketOpened(let subprotocol, let isCompressed):
            opened = event.time
            return "* WebSocket open" + (subprotocol.map { ", subprotocol \(shown($0))" } ?? "")
                + (isCompressed ? ", compressed" : "")
        case .webSocketMessage(let isSent, let isText, let count):
            return line(isSent, "\(isText ? "text" : "binary"), \(Quantity.count(count, "byte"))", event.time)
        case .webSocketPing(let isSent): return line(isSent, isSent ? "ping" : "pong", event.time)
        case .webSocketCloses(let code):
            // Reported again when the server's close frame arrives.
            guard !hasClosed else { return nil }
            hasClosed = true
            return line(true, "close, \(CloseCodeText.described(code))", event.time)
        case .webSocketClosed(let code): return line(false, "close, \(CloseCodeText.described(code))", event.time)
        default: return nil
        }
    }

    /// The reason in the server's close frame.
    package static func reason(_ reason: String) -> String { "<               reason: \(TextSanitizer.clean(reason))" }

    private func shown(_ subprotocol: String) -> String {
        showsSecrets ? TextSanitizer.clean(subprotocol) : SecretFields.replacement
    }

    private func line(_ isSent: Bool, _ what: String, _ time: Int64) -> String {
        let seconds = Double(max(0, time - (opened ?? time))) / 1e9
        return "\(isSent ? ">" : "<") " + ("+" + Quantity.fixed(seconds, 3) + " s").rightAligned(12) + "  " + what
    }
}
