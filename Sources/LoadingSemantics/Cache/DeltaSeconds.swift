/// Spans of time in fields of caches (RFC 9111 §1.2.2), and arithmetic that no stored or received number can break.
enum DeltaSeconds {
    /// What a larger number is taken for.
    static let maximum: Int64 = 1 << 31

    /// Nil unless it is nothing but digits.
    static func parse(_ digits: some Collection<UInt8>) -> Int64? {
        if digits.isEmpty { return nil }
        var result: Int64 = 0
        for digit in digits {
            guard digit &- 0x30 < 10 else { return nil }
            result = min(result * 10 + Int64(digit &- 0x30), maximum)
        }
        return result
    }

    static func sum(_ left: Int64, _ right: Int64) -> Int64 {
        let (result, overflows) = left.addingReportingOverflow(right)
        return overflows ? (left < 0 ? .min : .max) : result
    }

    static func difference(_ left: Int64, _ right: Int64) -> Int64 {
        let (result, overflows) = left.subtractingReportingOverflow(right)
        return overflows ? (left < 0 ? .min : .max) : result
    }
}
