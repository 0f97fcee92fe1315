internal import LoadingSemantics

/// What responses have set before the cookies that last were read, in their order. As much as a jar takes, and nothing that
/// none takes: who comes later takes the place of who came first.
struct EarlyCookies {
    struct Receipt {
        let fields: [String]
        let request: CookieRequest
        let policy: CookieAcceptPolicy
        /// When the response came, in seconds since 1970.
        let time: Double
        fileprivate let size: Int

        init(fields: [String], request: CookieRequest, policy: CookieAcceptPolicy, time: Double) {
            self.fields = fields.filter { (try? SetCookie($0)) != nil }
            self.request = request
            self.policy = policy
            self.time = time
            size = self.fields.reduce(request.size) { $0 + $1.utf8.count }
        }
    }

    private static let mostFields = 3300
    private static let mostBytes = 16 << 20

    private var receipts: [Receipt] = []
    /// How many of those have been taken.
    private var takenCount = 0
    private(set) var fieldCount = 0
    private(set) var byteCount = 0

    var isEmpty: Bool { receipts.isEmpty }

    mutating func add(_ receipt: Receipt) {
        if receipt.fields.isEmpty { return }
        receipts.append(receipt)
        fieldCount += receipt.fields.count
        byteCount += receipt.size
        // Some more, so that they are not moved for each.
        if fieldCount > 2 * Self.mostFields || byteCount > 2 * Self.mostBytes { dropOldest() }
    }

    private mutating func dropOldest() {
        while fieldCount > Self.mostFields || byteCount > Self.mostBytes, takenCount < receipts.count - 1 {
            forgetNext()
        }
        receipts.removeFirst(takenCount)
        takenCount = 0
    }

    private mutating func forgetNext() {
        fieldCount -= receipts[takenCount].fields.count
        byteCount -= receipts[takenCount].size
        takenCount += 1
    }

    /// Nil if nothing waits.
    mutating func takeFirst() -> Receipt? {
        guard takenCount < receipts.count else { return nil }
        let receipt = receipts[takenCount]
        forgetNext()
        if takenCount == receipts.count { self = EarlyCookies() }
        return receipt
    }
}

extension CookieRequest {
    /// About how many bytes it takes.
    fileprivate var size: Int {
        let documentSize = if case .web(let page) = document { page.absoluteForm.count } else { 0 }
        return url.absoluteForm.count + documentSize + (partition?.utf8.count ?? 0)
    }
}
