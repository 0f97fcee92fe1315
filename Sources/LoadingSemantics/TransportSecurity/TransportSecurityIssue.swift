/// Something in the settings of App Transport Security that cannot be understood, and so counts as not there.
package struct TransportSecurityIssue: Sendable, Equatable {
    package enum Reason: String, Sendable {
        case notBoolean = "is no boolean"
        case notString = "is no string"
        case notArray = "is no array"
        case notDictionary = "is no dictionary"
        case unknownKey = "is not known"
        case notDomain = "is no domain, address or range of addresses"
        /// Two keys are one domain, written in different ways.
        case twice = "is there twice"
        case notVersion = "is no version of TLS"
        case notDigest = "is no SHA-256 digest in Base64"
        /// A pinned domain without pins: nobody has them.
        case noPins = "has no pins, so no server will do"
        /// Pins that cannot be read: nobody has them.
        case noReadablePins = "has no pins that can be read, so no server will do"
    }

    /// The keys that lead to it.
    package var path: [String]
    package var reason: Reason

    package init(path: [String], reason: Reason) {
        self.path = path
        self.reason = reason
    }

    package var description: String { path.joined(separator: " › ") + " " + reason.rawValue }
}
