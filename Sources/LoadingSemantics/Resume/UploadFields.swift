/// Fields of draft-ietf-httpbis-resumable-upload (RES-14, RES-15).
enum UploadFields {
    /// The interop version that is implemented: that of draft 09 and later.
    static let interopVersion: Int64 = 8

    static let version = "Upload-Draft-Interop-Version"
    static let complete = "Upload-Complete"
    static let length = "Upload-Length"
    static let offset = "Upload-Offset"

    /// Fields that show that the caller implements the protocol itself, including draft 01.
    static let all = [version, complete, offset, "Upload-Incomplete"]

    /// `Upload-Offset`, or nil if it is missing or malformed.
    static func offset(in fields: HTTPFields) -> Int64? { count(offset, in: fields) }

    /// `Upload-Complete`, or nil if it is missing or malformed.
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
