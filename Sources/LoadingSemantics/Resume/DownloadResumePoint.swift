/// The contents of the resume data of a download (RES-10).
///
/// It contains no credentials: no userinfo, no `Authorization`, no cookies.
package struct DownloadResumePoint: Sendable, Equatable {
    package var originalURL: String
    /// After redirects.
    package var url: String
    /// The fields that the caller set.
    package var requestFields: HTTPFields
    package var validator: ResumeValidator
    package var bytesReceived: Int64
    /// The length of the whole resource, or nil if unknown.
    package var total: Int64?
    package var fileName: String

    /// Restores a saved point. Returns nil if its numbers are inconsistent (RES-8).
    package init?(
        originalURL: String, url: String, requestFields: HTTPFields, validator: ResumeValidator, bytesReceived: Int64,
        total: Int64?, fileName: String
    ) {
        guard bytesReceived >= 0, total.map({ $0 >= bytesReceived }) ?? true, Self.isLoadable(url, validator) else {
            return nil
        }
        self.originalURL = originalURL
        self.url = url
        self.requestFields = requestFields
        self.validator = validator
        self.bytesReceived = bytesReceived
        self.total = total
        self.fileName = fileName
    }

    /// The point at which a download stopped, or nil if it cannot be resumed (RES-1).
    ///
    /// In addition to Apple's conditions, the response must not have a content coding: the file contains decoded bytes,
    /// which do not correspond to a range of the resource.
    package init?(_ download: PartialDownload) {
        guard download.method == "GET", !Self.rangeFields.contains(where: download.requestFields.contains),
            Self.hasNoCoding(download.responseFields), Self.allowsRanges(download.responseFields),
            let validator = ResumeValidator(download.responseFields)
        else { return nil }
        let total: Int64?
        switch download.status {
        case 200:
            total = download.responseFields.firstValue("Content-Length").flatMap(Int64.init)
        case 206:
            // Without a `Range` in the request, a range that begins later is a part whose place in the file is wrong.
            guard let range = download.responseFields.firstValue("Content-Range").flatMap(ContentRange.init),
                range.bytes?.lowerBound == download.responseOffset
            else { return nil }
            total = range.total
        default:
            return nil
        }
        self.init(
            originalURL: URLReference.withoutUserinfo(download.originalURL),
            url: URLReference.withoutUserinfo(download.url),
            requestFields: download.requestFields.without(names: Self.secretFields), validator: validator,
            bytesReceived: download.bytesReceived, total: total, fileName: download.fileName)
    }

    /// The point at which an FTP download stopped.
    ///
    /// - Parameter modificationTime: As the server sent it.
    package init?(
        originalURL: String, url: String, modificationTime: String, bytesReceived: Int64, total: Int64, fileName: String
    ) {
        self.init(
            originalURL: URLReference.withoutUserinfo(originalURL), url: URLReference.withoutUserinfo(url),
            requestFields: HTTPFields(), validator: .modificationTime(modificationTime), bytesReceived: bytesReceived,
            total: total, fileName: fileName)
    }

    /// The modification time that an FTP server sent.
    package var modificationTime: String? {
        if case .modificationTime(let time) = validator { time } else { nil }
    }

    /// The point for a file of that length. It is shorter than the count if the process ended before all bytes were
    /// written. Nil without a file (RES-1).
    package func backed(byFileOf length: Int64?) -> DownloadResumePoint? {
        guard let length, length >= 0 else { return nil }
        var point = self
        point.bytesReceived = min(bytesReceived, length)
        return point
    }

    /// The point of a download that was running when the point was saved, with the present length of its file. For a
    /// complete file the last byte is requested again, so that the server validates the file. Nil if the file is longer
    /// than the resource.
    package func counted(byFileOf length: Int64) -> DownloadResumePoint? {
        guard length >= 0, total.map({ length <= $0 }) ?? true else { return nil }
        var point = self
        point.bytesReceived = length == total ? max(0, length - 1) : length
        return point
    }

    /// Whether the request has a range. Without received bytes it requests the whole resource.
    package var asksForRest: Bool { bytesReceived > 0 }

    /// The fields of the request that resumes (RES-3).
    package var resumedFields: HTTPFields {
        guard asksForRest else { return requestFields }
        // A content coding would not continue the file.
        var fields = requestFields.without(names: ["accept-encoding"])
        fields.append("Accept-Encoding", "identity")
        fields.append("Range", "bytes=\(bytesReceived)-")
        fields.append("If-Range", validator.fieldValue)
        return fields
    }

    // MARK: Conditions

    private static let rangeFields = ["range", "if-range"]
    private static let secretFields = ["authorization", "proxy-authorization", "cookie", "cookie2"]

    /// `none` forbids ranges. Without the field they may be supported (RFC 9110 §14.3).
    private static func allowsRanges(_ fields: HTTPFields) -> Bool {
        guard let value = fields.combinedValue("Accept-Ranges") else { return true }
        return value.lowercased().split { $0 == "," || $0 == " " || $0 == "\t" }.contains("bytes")
    }

    static func hasNoCoding(_ fields: HTTPFields) -> Bool {
        let codings = fields.combinedValue("Content-Encoding") ?? ""
        return codings.lowercased().split { $0 == "," || $0 == " " || $0 == "\t" }.allSatisfy { $0 == "identity" }
    }

    private static func isLoadable(_ url: String, _ validator: ResumeValidator) -> Bool {
        if case .modificationTime = validator { return (try? FTPURL(url)) != nil }
        guard let url = try? HTTPURL(url) else { return false }
        return url.scheme.isHTTP
    }
}
