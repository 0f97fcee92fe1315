/// What a server allows of an upload, by its `Upload-Limit` (RES-21). Nil where it says nothing.
package struct UploadLimits: Sendable, Equatable {
    /// Bytes of the whole.
    package var maximumSize: Int64?
    /// Bytes of one request.
    package var maximumAppendSize: Int64?
    /// Seconds, from the response on, that the server keeps what it has.
    package var maximumAge: Int64?

    package init(maximumSize: Int64? = nil, maximumAppendSize: Int64? = nil, maximumAge: Int64? = nil) {
        self.maximumSize = maximumSize
        self.maximumAppendSize = maximumAppendSize
        self.maximumAge = maximumAge
    }

    /// Nil if there is no such field or if it is to be ignored: a known key with a value that is no number spoils all.
    init?(_ fields: HTTPFields) {
        guard let text = fields.combinedValue("Upload-Limit"), let members = StructuredField.dictionary(text) else {
            return nil
        }
        func number(_ key: String, atLeast least: Int64) throws(Unreadable) -> Int64? {
            switch members[key] {
            case nil: return nil
            case .integer(let number) where number >= least: return number
            default: throw Unreadable()
            }
        }
        do throws(Unreadable) {
            maximumSize = try number("max-size", atLeast: 0)
            // With a limit of 0 nothing could ever be sent.
            maximumAppendSize = try number("max-append-size", atLeast: 1)
            // Requests are as large as may be, so the minima take care of themselves.
            _ = try (number("min-append-size", atLeast: 0), number("min-size", atLeast: 0))
            maximumAge = try number("max-age", atLeast: 0)
        } catch {
            return nil
        }
    }

    private struct Unreadable: Error {}

    /// How many of the bytes that are left the next request may carry.
    func next(of left: Int64) -> Int64 {
        guard let maximumAppendSize, left > maximumAppendSize else { return left }
        return maximumAppendSize
    }
}
