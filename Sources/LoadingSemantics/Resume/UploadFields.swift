/// The fields of the protocol for resumable uploads, draft-ietf-httpbis-resumable-upload (RES-14, RES-15).
enum UploadFields {
    /// The version of the wire that is spoken: that of draft 09 and later.
    static let interopVersion: Int64 = 8

    static let version = "Upload-Draft-Interop-Version"
    static let complete = "Upload-Complete"
    static let length = "Upload-Length"
    static let offset = "Upload-Offset"

    /// Those that say that somebody speaks the protocol, draft 01's included.
    static let all = [version, complete, offset, "Upload-Incomplete"]

    /// `Upload-Offset`, or nil if it is missing or to be ignored.
    static func offset(in fields: HTTPFields) -> Int64? { count(offset, in: fields) }

    /// `Upload-Complete`, or nil if it is missing or to be ignored.
    static func isComplete(in fields: HTTPFields) -> Bool? {
        guard case .boolean(let isComplete) = fields.combinedValue(complete).flatMap(StructuredField.item) else {
            return nil
        }
        return isComplete
    }

    static func isOurVersion(_ fields: HTTPFields) -> Bool { count(version, in: fields) == interopVersion }

    private static func count(_ name: String, in fields: HTTPFields) -> Int64? {
        guard case .integer(let number) = fields.combinedValue(name).flatMap(StructuredField.item), number >= 0 else {
            return nil
        }
        return number
    }
}
