/// Request fields that the loader controls (MISC-6).
package enum ReservedFields {
    /// How the application's value of a field is handled.
    package enum Treatment: Sendable, Equatable {
        case sent
        /// The loader sends its own value, or none.
        case ignored
        /// Sent only if the body is a stream, whose length the loader does not know.
        case sentForStreams
        /// Sent to a forwarding proxy, never to the origin (PROXY-11).
        case sentToProxy
    }

    package static func treatment(of name: String) -> Treatment {
        switch name.utf8.count {
        case 2...19: table[name.lowercased()] ?? .sent
        default: .sent
        }
    }

    private static let table: [String: Treatment] = [
        "host": .ignored, "connection": .ignored, "proxy-connection": .ignored, "keep-alive": .ignored,
        "transfer-encoding": .ignored, "www-authenticate": .ignored, "proxy-authenticate": .ignored,
        "content-length": .sentForStreams, "proxy-authorization": .sentToProxy,
    ]
}
