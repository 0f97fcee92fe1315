internal import LoadingSemantics

/// The cookies of responses that arrived before the persistent cookies were read, in order. Bounded by the jar's
/// limits: later cookies displace earlier ones. Cookies that no jar accepts are not kept.
struct EarlyCookies {
    struct Receipt {
        let fields: [String]
        let request: CookieRequest
        let policy: CookieAcceptPolicy
        /// When the response was received, in seconds since 1970.
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
    /// The number of entries that were taken.
    private var takenCount = 0
    private(set) var fieldCount = 0
    private(set) var byteCount = 0

    var isEmpty: Bool { receipts.isEmpty }

    mutating func add(_ receipt: Receipt) {
        if receipt.fields.isEmpty { return }
        receipts.append(receipt)
        fieldCount += receipt.fields.count
        byteCount += receipt.size
        // Compact rarely, so that the entries are not moved for each one.
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

    /// Nil if there are none.
    mutating func takeFirst() -> Receipt? {
        guard takenCount < receipts.count else { return nil }
        let receipt = receipts[takenCount]
        forgetNext()
        if takenCount == receipts.count { self = EarlyCookies() }
        return receipt
    }
}

extension CookieRequest {
    /// The approximate size in bytes.
    fileprivate var size: Int {
        let documentSize = if case .web(let page) = document { page.absoluteForm.count } else { 0 }
        return url.absoluteForm.count + documentSize + (partition?.utf8.count ?? 0)
    }
}
