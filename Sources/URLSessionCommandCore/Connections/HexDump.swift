/// Shows the first bytes of binary data, 16 in a line.
package enum HexDump {
    /// - Parameter limit: The number of bytes to show.
    package static func lines(_ bytes: some Collection<UInt8>, limit: Int) -> [String] {
        let shown = Array(bytes.prefix(limit))
        return stride(from: 0, to: shown.count, by: 16).map { offset in
            let row = shown[offset..<min(offset + 16, shown.count)]
            let digits = row.map { hexadecimal(Int($0), width: 2) }.joined(separator: " ").leftAligned(47)
            let characters = row.map { 0x20..<0x7F ~= $0 ? String(UnicodeScalar($0)) : "." }.joined()
            return "\(hexadecimal(offset, width: 8))  \(digits)  |\(characters)|"
        }
    }

    private static func hexadecimal(_ value: Int, width: Int) -> String {
        let digits = String(value, radix: 16)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
}
