/// The arguments of `urlsession connect`, beyond those of all loads.
package struct ConnectOptions: Equatable, Sendable {
    package enum Security: Equatable, Sendable {
        case none
        /// TLS from the first byte.
        case fromTheStart
        /// TLS after the application protocol has agreed on it.
        case after(StartTLS.ApplicationProtocol)
    }

    package var host: String
    package var port: Int
    package var security = Security.none

    package init(host: String, port: Int) {
        self.host = host
        self.port = port
    }

    /// A URL, for messages.
    package var url: String { host.contains(":") ? "tcp://[\(host)]:\(port)" : "tcp://\(host):\(port)" }
}
