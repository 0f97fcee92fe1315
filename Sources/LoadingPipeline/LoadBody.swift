package import FoundationEssentials
package import LoadingConnections
package import LoadingTransport

/// The body of a load: what each of its requests makes its `RequestBody` of, also the second time.
package enum LoadBody {
    case none
    case bytes(Data)
    case file(FileReader)
    /// A stream, which can be sent once. Whatever it is that is to be sent again, and nil, is asked for; `length` when it
    /// is announced.
    case stream((any RequestBodySource)?, length: Int64?)

    package var isNone: Bool { if case .none = self { true } else { false } }

    /// Whether it can be sent again without a question.
    var isLasting: Bool { if case .stream = self { false } else { true } }

    /// Of a stream: its length, if that is announced.
    var announcedStreamLength: Int64? { if case .stream(_, let length) = self { length } else { nil } }
}
