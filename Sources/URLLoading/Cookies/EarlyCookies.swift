internal import LoadingSemantics

/// What responses have set before the cookies that last were read, in their order. As much as a jar takes: who comes later
/// takes the place of who came first.
struct EarlyCookies {
    struct Receipt {
        let fields: [String]
        let request: CookieRequest
        let policy: CookieAcceptPolicy
    }

    private static let mostFields = 3300

    private var receipts: [Receipt] = []
    private(set) var fieldCount = 0

    /// - Returns: Whether it is the first.
    mutating func add(_ receipt: Receipt) -> Bool {
        receipts.append(receipt)
        fieldCount += receipt.fields.count
        // Some more, so that they are not moved for each.
        if fieldCount > 2 * Self.mostFields { dropOldest() }
        return receipts.count == 1
    }

    private mutating func dropOldest() {
        var count = 0
        while fieldCount > Self.mostFields, count < receipts.count - 1 {
            fieldCount -= receipts[count].fields.count
            count += 1
        }
        receipts.removeFirst(count)
    }

    mutating func takeAll() -> [Receipt] {
        defer { self = EarlyCookies() }
        return receipts
    }
}
