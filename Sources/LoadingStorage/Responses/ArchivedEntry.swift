/// A response that was found.
package struct ArchivedEntry: Sendable, Equatable {
    package let head: ArchivedResponse
    /// Of the body, in bytes.
    package let bodyCount: Int64
    /// When it was stored, as the caller said.
    package let stored: Double

    /// Others may get it when this one is gone; by the seal of the body it is known that it is not.
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

    func isOf(_ row: ResponseRow) -> Bool {
        row.key == key && row.bodySeal == bodySeal && row.bodyCount == bodyCount
    }
}
