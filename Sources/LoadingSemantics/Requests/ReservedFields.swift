/// Request fields that belong to the loader (MISC-6).
package enum ReservedFields {
    /// What becomes of the value that an app has set.
    package enum Treatment: Sendable, Equatable {
        case sent
        /// The loader writes its own, or none.
        case ignored
        /// Sent if the body is a stream, whose length only the app knows; else the loader counts for itself.
        case sentForStreams
        /// For a proxy that takes the request in plain text, never for the origin (PROXY-11).
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
