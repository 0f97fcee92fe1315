/// An invalid value in the App Transport Security settings. It is ignored.
package struct TransportSecurityIssue: Sendable, Equatable {
    package enum Reason: String, Sendable {
        case notBoolean = "is no boolean"
        case notString = "is no string"
        case notArray = "is no array"
        case notDictionary = "is no dictionary"
        case unknownKey = "is not known"
        case notDomain = "is no domain, address or range of addresses"
        /// Two keys are the same domain in different spellings.
        case twice = "is there twice"
        case notVersion = "is no version of TLS"
        case notDigest = "is no SHA-256 digest in Base64"
        /// A pinned domain without pins, which no server satisfies.
        case noPins = "has no pins, so no server will do"
        /// A list without a valid pin, which no server satisfies.
        case noReadablePins = "has no pins that can be read, so no server will do"
    }

    /// The keys that lead to the value.
    package var path: [String]
    package var reason: Reason

    package init(path: [String], reason: Reason) {
        self.path = path
        self.reason = reason
    }

    package var description: String { path.joined(separator: " › ") + " " + reason.rawValue }
}
