internal import LoadingSemantics

/// What responses have set before the cookies that last were read, in their order. As much as a jar takes, and nothing that
/// none takes: who comes later takes the place of who came first.
struct EarlyCookies {
    struct Receipt {
        let fields: [String]
        let request: CookieRequest
        let policy: CookieAcceptPolicy
        fileprivate let size: Int

        init(fields: [String], request: CookieRequest, policy: CookieAcceptPolicy) {
            self.fields = fields.filter { (try? SetCookie($0)) != nil }
            self.request = request
            self.policy = policy
            size = self.fields.reduce(request.size) { $0 + $1.utf8.count }
        }
    }

    private static let mostFields = 3300
    private static let mostBytes = 16 << 20

    private var receipts: [Receipt] = []
    private(set) var fieldCount = 0
    private(set) var byteCount = 0

    /// - Returns: Whether it is the first.
    mutating func add(_ receipt: Receipt) -> Bool {
        if receipt.fields.isEmpty { return false }
        receipts.append(receipt)
        fieldCount += receipt.fields.count
        byteCount += receipt.size
        // Some more, so that they are not moved for each.
        if fieldCount > 2 * Self.mostFields || byteCount > 2 * Self.mostBytes { dropOldest() }
        return receipts.count == 1
    }

    private mutating func dropOldest() {
        var count = 0
        while fieldCount > Self.mostFields || byteCount > Self.mostBytes, count < receipts.count - 1 {
            fieldCount -= receipts[count].fields.count
            byteCount -= receipts[count].size
            count += 1
        }
        receipts.removeFirst(count)
    }

    mutating func takeAll() -> [Receipt] {
        defer { self = EarlyCookies() }
        return receipts
    }
}

extension CookieRequest {
    /// About how many bytes it takes.
    fileprivate var size: Int {
        let documentSize = if case .web(let page) = document { page.absoluteForm.count } else { 0 }
        return url.absoluteForm.count + documentSize + (partition?.utf8.count ?? 0)
    }
}
