/// The spelling of response field names in the public API.
package enum FieldNames {
    /// Capitalizes each word, with `WWW-Authenticate` as an exception. Names that start with `x-` are unchanged
    /// (MISC-8).
    package static func canonical(_ name: String) -> String {
        let bytes = name.utf8
        if let first = bytes.first, asciiLowercase(first) == UInt8(ascii: "x"),
            bytes.dropFirst().first == UInt8(ascii: "-")
        {
            return name
        }
        var isStart = true
        var isCanonical = true
        var result = [UInt8]()
        result.reserveCapacity(bytes.count)
        for byte in bytes {
            let shown = isStart ? asciiUppercase(byte) : asciiLowercase(byte)
            if shown != byte { isCanonical = false }
            result.append(shown)
            isStart = byte == UInt8(ascii: "-")
        }
        if result.count == 16, result.elementsEqual("Www-Authenticate".utf8) { return "WWW-Authenticate" }
        return isCanonical ? name : String(decoding: result, as: UTF8.self)
    }
}
