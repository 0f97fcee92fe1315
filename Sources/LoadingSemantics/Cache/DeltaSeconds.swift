/// delta-seconds (RFC 9111 §1.2.2), and arithmetic that saturates, since stored and received numbers can have any
/// value.
enum DeltaSeconds {
    /// Larger values are reduced to this one.
    static let maximum: Int64 = 1 << 31

    /// Returns nil unless the text consists of digits.
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
