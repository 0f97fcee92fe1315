/// What the answers to a request for the rest of a resource mean.
package enum ResumeRules {
    /// - Parameters:
    ///   - fields: Of the final response, after redirects and challenges.
    ///   - point: What the request was made from.
    ///   - mayRestart: Whether it was not restarted before: that is done once.
    package static func decide(
        status: Int, fields: HTTPFields, of point: DownloadResumePoint, mayRestart: Bool
    ) -> ResumeDecision {
        switch status {
        case 206:
            if let rest = rest(in: fields, of: point) { return rest }
        case 416:
            break
        default:
            // The resource has changed, or the body tells of an error: it is all there is.
            return .replace
        }
        if mayRestart { return .restart }
        return .fail(.badServerResponse("The answer does not go on where the download stopped"))
    }

    /// Nil unless the body is all of the rest, of the same version.
    private static func rest(in fields: HTTPFields, of point: DownloadResumePoint) -> ResumeDecision? {
        let ranges = fields.values("Content-Range")
        // Several parts have their ranges within the body.
        guard ranges.count == 1, let range = ContentRange(ranges[0]), let bytes = range.bytes,
            bytes.lowerBound == point.bytesReceived, DownloadResumePoint.hasNoCoding(fields),
            !point.validator.isContradicted(by: fields)
        else { return nil }
        if let before = point.total, let now = range.total, before != now { return nil }
        let total = range.total ?? point.total
        // An answer may be shorter than asked for (RFC 9110 §15.3.7); then the file would not be whole.
        let (end, _) = bytes.upperBound.addingReportingOverflow(1)
        if let total, total != end { return nil }
        let (length, overflows) = end.subtractingReportingOverflow(bytes.lowerBound)
        if let said = fields.firstValue("Content-Length"), overflows || Int64(said) != length { return nil }
        return .append(offset: point.bytesReceived, total: total)
    }
}
