/// The ASCII form of a host that is percent-encoded or has letters beyond ASCII.
///
/// The public `URL` maps such hosts by UTS 46 already when it parses them. What arrives here comes from `Location`
/// fields and percent-encoded hosts; lower-casing and the ideographic full stops are all the mapping they get.
enum HostName {
    /// Nil if no host can have that name: it is to be treated as one that cannot be found (ERR-15).
    static func ascii(_ host: UnsafeBufferPointer<UInt8>) -> [UInt8]? {
        guard let decoded = PercentEncoding.decode(host),
            let name = String(validating: decoded, as: UTF8.self)?.lowercased()
        else { return nil }
        var result: [UInt8] = []
        let isDot = { (scalar: Unicode.Scalar) in
            scalar == "." || scalar == "\u{3002}" || scalar == "\u{FF0E}" || scalar == "\u{FF61}"
        }
        let labels = name.unicodeScalars.split(omittingEmptySubsequences: false, whereSeparator: isDot)
        for (index, label) in labels.enumerated() {
            if index > 0 { result.append(UInt8(ascii: ".")) }
            if label.allSatisfy(\.isASCII) {
                result += label.lazy.map { UInt8(truncatingIfNeeded: $0.value) }
            } else {
                // A label is at most 63 letters (RFC 1035 §2.3.4), and encoding never makes it shorter.
                if label.count > 63 { return nil }
                let encoded = Punycode.encode(Array(label))
                if encoded.count > 59 { return nil }
                result += "xn--".utf8
                result += encoded
            }
        }
        return result.allSatisfy(URLBytes.isRegisteredName) ? result : nil
    }
}
