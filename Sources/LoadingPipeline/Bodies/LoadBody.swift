package import FoundationEssentials
package import LoadingConnections
package import LoadingTransport

/// The body of a load, from which each of its requests makes its `RequestBody`, also when it is sent again.
package enum LoadBody {
    case none
    case bytes(Data)
    case file(FileReader)
    /// A stream, which can be sent once. The client is asked for another one when the body is sent again, or if this is
    /// nil. `length` is the announced length, if there is one.
    case stream((any RequestBodySource)?, length: Int64?)

    package var isNone: Bool { if case .none = self { true } else { false } }

    /// Whether the body can be sent again without asking the client.
    var isReplayable: Bool { if case .stream = self { false } else { true } }

    var announcedStreamLength: Int64? { if case .stream(_, let length) = self { length } else { nil } }
}
