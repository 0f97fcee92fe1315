/// A response that was found in the archive.
package struct ArchivedEntry: Sendable, Equatable {
    package let head: ArchivedResponse
    /// The size of the body, in bytes.
    package let bodyCount: Int64
    /// When it was stored, as the caller said.
    package let stored: Double

    /// Row ids are reused. The checksum of the body shows whether the row is still the same entry.
    let number: Int64
    let key: String
    let bodySeal: Int64

    init(number: Int64, _ row: ResponseRow) {
        self.number = number
        key = row.key
        head = row.head
        bodyCount = row.bodyCount
        bodySeal = row.bodySeal
        stored = row.stored
    }

    func matches(_ row: ResponseRow) -> Bool {
        row.key == key && row.bodySeal == bodySeal && row.bodyCount == bodyCount
    }
}
