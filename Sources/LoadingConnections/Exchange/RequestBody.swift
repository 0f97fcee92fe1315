package import FoundationEssentials
package import LoadingProtocols

/// What a request carries.
package enum RequestBody {
    case none
    case bytes(Data)
    /// A stream of bytes; `length` when it is announced, else the body goes out chunked (MISC-5).
    case source(any RequestBodySource, length: Int64?)

    /// How the body is framed (MISC-5).
    package var framing: HTTP1RequestBody {
        switch self {
        case .none: .none
        case .bytes(let data): .known(Int64(data.count))
        case .source(_, let length): length.map { .known($0) } ?? .chunked
        }
    }
}
