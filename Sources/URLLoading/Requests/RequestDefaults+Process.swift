internal import Foundation
internal import LoadingProtocols
internal import LoadingSemantics

extension RequestDefaults {
    /// The version of this library in `User-Agent`.
    private static let libraryVersion = "0.1"

    /// The default header fields of all requests of this process (MISC-1).
    static func fields(isSecure: Bool, userAgent: String) -> HTTPFields {
        var fields = HTTPFields([("Accept", accept)])
        if let languages { fields.append("Accept-Language", languages) }
        // Loads the library, but not for requests that do not offer the coding.
        let decodesBrotli = isSecure && ContentDecoder.decodesBrotli
        fields.append("Accept-Encoding", acceptEncoding(isSecure: isSecure, decodesBrotli: decodesBrotli))
        fields.append("User-Agent", userAgent)
        fields.append("Connection", "keep-alive")
        return fields
    }

    /// From the environment, because Foundation's `Locale` would load ICU (MISC-3).
    private static let languages: String? = {
        for variable in ["LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG"] {
            guard let value = getenv(variable), value.pointee != 0 else { continue }
            return acceptLanguage(languageTags(String(cString: value))) ?? acceptLanguage(["en-US"])
        }
        return acceptLanguage(["en-US"])
    }()

    /// Converts `de_AT.UTF-8:en` to `["de-AT", "en"]`. `C` and `POSIX` are skipped.
    private static func languageTags(_ value: String) -> [String] {
        var tags: [String] = []
        var tag = ""
        var isInTag = true
        for byte in value.utf8 + [UInt8(ascii: ":")] {
            switch byte {
            case UInt8(ascii: ":"):
                if !tag.isEmpty, tag != "C", tag != "POSIX" { tags.append(tag) }
                tag = ""
                isInTag = true
            case UInt8(ascii: "."), UInt8(ascii: "@"): isInTag = false
            case UInt8(ascii: "_"): if isInTag { tag += "-" }
            default: if isInTag { tag.unicodeScalars.append(UnicodeScalar(byte)) }
            }
        }
        return tags
    }

    /// The `User-Agent` of this program.
    ///
    /// - Parameter programVersion: The version of a program without `Info.plist`.
    static func userAgent(programVersion: String?) -> String {
        programVersion.map { userAgent(ofVersion: $0) } ?? processUserAgent
    }

    private static let processUserAgent = userAgent(ofVersion: nil)

    private static func userAgent(ofVersion version: String?) -> String {
        var system = utsname()
        uname(&system)
        let kernel = withUnsafeBytes(of: &system.release) { bytes in
            String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
        let info = Program.information
        return userAgent(
            programName: info?["CFBundleName"] as? String ?? (Program.name.isEmpty ? "program" : Program.name),
            programVersion: info?["CFBundleVersion"] as? String ?? version, libraryVersion: libraryVersion,
            kernelVersion: kernel)
    }
}
