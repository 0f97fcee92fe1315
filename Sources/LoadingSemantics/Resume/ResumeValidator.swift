/// Identifies a representation byte for byte (RES-3).
package enum ResumeValidator: Sendable, Equatable {
    /// A strong entity tag, with its quotation marks.
    case entityTag(String)
    /// As the server sent it.
    case lastModified(String)
    /// The reply of an FTP server to `MDTM`. The size must be equal too.
    case modificationTime(String)

    /// The best validator of a response. Nil if there is none that is strong: a weak entity tag, or a date that is not
    /// older than the response, can be shared by two versions (RFC 9110 §8.8.2.2, §13.1.5).
    package init?(_ fields: HTTPFields) {
        // Resume data contains text, so a tag that is not UTF-8 could not be sent back.
        if let tag = fields.firstOctets("ETag"), EntityTag(tag)?.isWeak == false,
            let text = String(validating: tag, as: UTF8.self)
        {
            self = .entityTag(text)
            return
        }
        let date = fields.firstValue("Date").flatMap { HTTPDate.parse($0, at: nil) }
        guard let text = fields.firstValue("Last-Modified"), let modified = HTTPDate.parse(text, at: date) else {
            return nil
        }
        // A server without a clock sends no `Date`, so the comparison is skipped.
        if let date, date <= modified { return nil }
        self = .lastModified(text)
    }

    /// The value of `If-Range`.
    package var fieldValue: String {
        switch self {
        case .entityTag(let tag): tag
        case .lastModified(let date), .modificationTime(let date): date
        }
    }

    /// Whether the validator of a response belongs to another version.
    func isContradicted(by fields: HTTPFields) -> Bool {
        switch self {
        case .entityTag(let tag):
            return fields.firstOctets("ETag").map { !$0.elementsEqual(tag.utf8) } ?? false
        case .lastModified(let date):
            guard let other = fields.firstValue("Last-Modified"), other != date else { return false }
            return HTTPDate.parse(other, at: nil) != HTTPDate.parse(date, at: nil)
        // HTTP responses have no such validator.
        case .modificationTime: return true
        }
    }
}
