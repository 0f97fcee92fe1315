package import LoadingSemantics

/// What a name server said about the services of an origin, or why it said nothing.
package typealias HTTPSRecordAnswer = Result<HTTPSRecordSet, NameFailure>

/// The services of an origin, in the order of preference; maybe none.
package struct HTTPSRecordSet: Hashable, Sendable {
    package let records: [HTTPSRecord]
    /// How long that is to be believed, in seconds; nil if nothing says so.
    package let lifetime: UInt32?

    package init(_ records: [HTTPSRecord], lifetime: UInt32?) {
        self.records = records
        self.lifetime = lifetime
    }

    package static let none = HTTPSRecordSet([], lifetime: nil)
}
