/// What tells that a resource is still the same, byte for byte (RES-3).
package enum ResumeValidator: Sendable, Equatable {
    /// A strong one, with its quotes.
    case entityTag(String)
    /// A date, as the server wrote it.
    case lastModified(String)
    /// What an FTP server answers to `MDTM`; the size has to be the same too.
    case modificationTime(String)

    /// The best that a response offers. Nil if it has none, or only such as allow two versions to pass for one: a weak
    /// entity tag, or a date that was still running when the response was made (RFC 9110 §8.8.2.2, §13.1.5).
    package init?(_ fields: HTTPFields) {
        if let tag = fields.firstValue("ETag"), EntityTag(tag)?.isWeak == false {
            self = .entityTag(tag)
            return
        }
        guard let text = fields.firstValue("Last-Modified"), let modified = HTTPDate.parse(text) else { return nil }
        // A server without a clock sends no date, and then there is nothing to compare with.
        if let date = fields.firstValue("Date").flatMap(HTTPDate.parse), date <= modified { return nil }
        self = .lastModified(text)
    }

    /// The value of `If-Range`.
    package var fieldValue: String {
        switch self {
        case .entityTag(let tag): tag
        case .lastModified(let date), .modificationTime(let date): date
        }
    }

    /// Whether a response that carries a validator speaks of another version.
    func isContradicted(by fields: HTTPFields) -> Bool {
        switch self {
        case .entityTag(let tag):
            return fields.firstValue("ETag").map { $0 != tag } ?? false
        case .lastModified(let date):
            guard let other = fields.firstValue("Last-Modified"), other != date else { return false }
            return HTTPDate.parse(other) != HTTPDate.parse(date)
        // No response of HTTP says this.
        case .modificationTime: return true
        }
    }
}
