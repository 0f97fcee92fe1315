/// The switches of `urlsession ws`, beyond those of all loads.
package struct WebSocketOptions: Equatable, Sendable {
    /// The subprotocols to offer, the preferred one first.
    package var protocols: [String] = []
    /// Sends standard input as binary messages.
    package var isBinary = false
    /// Sends all of standard input as one message.
    package var sendsWhole = false
    /// Offers permessage-deflate (RFC 7692).
    package var isCompressed = false
    /// Seconds without anything from the server after which a ping is sent.
    package var pingInterval: Double?
    /// The largest message to receive, in bytes.
    package var maximumMessageSize: Int?
    /// Seconds without a message, after the end of standard input, before the connection is closed.
    package var wait: Double?

    package init() {}
}
