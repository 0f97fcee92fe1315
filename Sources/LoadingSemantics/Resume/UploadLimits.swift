/// `Upload-Limit`: the server's limits (RES-21). Nil means no limit.
package struct UploadLimits: Sendable, Equatable {
    /// Bytes of the whole upload.
    package var maximumSize: Int64?
    /// Bytes of one request.
    package var maximumAppendSize: Int64?
    /// Seconds, from the response on, for which the server keeps the upload resource.
    package var maximumAge: Int64?

    package init(maximumSize: Int64? = nil, maximumAppendSize: Int64? = nil, maximumAge: Int64? = nil) {
        self.maximumSize = maximumSize
        self.maximumAppendSize = maximumAppendSize
        self.maximumAge = maximumAge
    }

    /// Returns nil if the field is missing or malformed. A known key with a value that is not a number invalidates the
    /// field.
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
            // A limit of 0 would prevent any progress.
            maximumAppendSize = try number("max-append-size", atLeast: 1)
            // Requests are as large as possible, so minimum sizes need no handling. They are validated only.
            _ = try (number("min-append-size", atLeast: 0), number("min-size", atLeast: 0))
            maximumAge = try number("max-age", atLeast: 0)
        } catch {
            return nil
        }
    }

    private struct Unreadable: Error {}

    /// How many of the remaining bytes the next request may contain.
    func next(of left: Int64) -> Int64 {
        guard let maximumAppendSize, left > maximumAppendSize else { return left }
        return maximumAppendSize
    }
}
