/// Interprets the response to a range request for the rest of a resource.
package enum ResumeRules {
    /// - Parameters:
    ///   - fields: The fields of the final response, after redirects and challenges.
    ///   - point: The resume point of the request.
    ///   - mayRestart: False after the first restart.
    package static func decide(
        status: Int, fields: HTTPFields, of point: DownloadResumePoint, mayRestart: Bool
    ) -> ResumeDecision {
        switch status {
        case 206:
            if let rest = rest(in: fields, of: point) { return rest }
        case 416:
            break
        default:
            // The resource has changed, or the response is an error. The body is complete in itself.
            return .replace
        }
        if mayRestart { return .restart }
        return .fail(.badServerResponse("The answer does not go on where the download stopped"))
    }

    /// Returns nil unless the body is exactly the rest of the same representation.
    private static func rest(in fields: HTTPFields, of point: DownloadResumePoint) -> ResumeDecision? {
        let ranges = fields.values("Content-Range")
        // multipart/byteranges has its ranges within the body.
        guard ranges.count == 1, let range = ContentRange(ranges[0]), let bytes = range.bytes,
            bytes.lowerBound == point.bytesReceived, DownloadResumePoint.hasNoCoding(fields),
            !point.validator.isContradicted(by: fields)
        else { return nil }
        if let before = point.total, let now = range.total, before != now { return nil }
        let total = range.total ?? point.total
        // A response may be shorter than requested (RFC 9110 §15.3.7), which would leave the file incomplete.
        let (end, _) = bytes.upperBound.addingReportingOverflow(1)
        if let total, total != end { return nil }
        let (length, overflows) = end.subtractingReportingOverflow(bytes.lowerBound)
        if overflows { return nil }
        if let said = fields.firstValue("Content-Length"), Int64(said) != length { return nil }
        return .append(offset: point.bytesReceived, length: length, total: total)
    }
}

/// How the response to a resumed download continues the file.
package enum ResumeDecision: Sendable, Equatable {
    /// The body, of this length, is appended. `total` is the length of the whole resource, if known (RES-4, RES-11).
    /// The resume point stays valid.
    case append(offset: Int64, length: Int64, total: Int64?)
    /// The body replaces the file (RES-5, RES-6).
    case replace
    /// The response is discarded, and the request is repeated without `Range` and `If-Range` (RES-6, RES-7).
    case restart
    case fail(LoadError)
}
