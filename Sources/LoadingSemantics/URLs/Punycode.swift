/// Punycode (RFC 3492).
enum Punycode {
    private static let base = 36, tMin = 1, tMax = 26, skew = 38, damp = 700, initialBias = 72, initialN = 128

    /// The encoded label without "xn--". A label has fewer than 64 scalars, so no value overflows.
    static func encode(_ label: [Unicode.Scalar]) -> [UInt8] {
        var result = label.filter(\.isASCII).map { UInt8(truncatingIfNeeded: $0.value) }
        let basicCount = result.count
        var handled = basicCount
        if basicCount > 0 { result.append(UInt8(ascii: "-")) }
        var n = initialN
        var delta = 0
        var bias = initialBias
        while let next = label.lazy.map({ Int($0.value) }).filter({ $0 >= n }).min() {
            delta += (next - n) * (handled + 1)
            n = next
            for scalar in label {
                if scalar.value < n { delta += 1 }
                guard scalar.value == n else { continue }
                appendInteger(delta, bias: bias, to: &result)
                bias = adapt(delta, count: handled + 1, isFirst: handled == basicCount)
                delta = 0
                handled += 1
            }
            delta += 1
            n += 1
        }
        return result
    }

    /// A variable-length integer (§3.3).
    private static func appendInteger(_ value: Int, bias: Int, to result: inout [UInt8]) {
        var rest = value
        var k = base
        while true {
            let threshold = k <= bias ? tMin : min(k - bias, tMax)
            if rest < threshold { break }
            result.append(digit(threshold + (rest - threshold) % (base - threshold)))
            rest = (rest - threshold) / (base - threshold)
            k += base
        }
        result.append(digit(rest))
    }

    private static func adapt(_ delta: Int, count: Int, isFirst: Bool) -> Int {
        var delta = isFirst ? delta / damp : delta / 2
        delta += delta / count
        var k = 0
        while delta > (base - tMin) * tMax / 2 {
            delta /= base - tMin
            k += base
        }
        return k + (base - tMin + 1) * delta / (delta + skew)
    }

    /// 0…25 are letters, 26…35 digits.
    private static func digit(_ value: Int) -> UInt8 {
        UInt8(truncatingIfNeeded: value < 26 ? 0x61 + value : 0x30 + value - 26)
    }
}
