internal import Foundation
internal import LoadingSemantics

extension RequestDefaults {
    /// The version of this library, as requests show it.
    private static let libraryVersion = "0.1"

    /// What every request of this process carries unless it says otherwise (MISC-1).
    static func fields(isSecure: Bool) -> HTTPFields {
        var fields = HTTPFields([("Accept", accept)])
        if let languages { fields.append("Accept-Language", languages) }
        fields.append("Accept-Encoding", acceptEncoding(isSecure: isSecure))
        fields.append("User-Agent", processUserAgent)
        fields.append("Connection", "keep-alive")
        return fields
    }

    /// From the environment rather than from Foundation's Locale, which would load all of ICU for it (MISC-3).
    private static let languages: String? = {
        let environment = ProcessInfo.processInfo.environment
        let names = ["LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG"]
        let value = names.lazy.compactMap { environment[$0] }.first { !$0.isEmpty } ?? ""
        let tags = value.split(separator: ":").map { name in
            name.prefix { $0 != "." && $0 != "@" }.replacing("_", with: "-")
        }
        return acceptLanguage(tags.filter { $0 != "C" && $0 != "POSIX" }.map { String($0) })
            ?? acceptLanguage(["en-US"])
    }()

    private static let processUserAgent: String = {
        var system = utsname()
        uname(&system)
        let kernel = withUnsafeBytes(of: &system.release) { bytes in
            String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
        let info = Bundle.main.infoDictionary
        return userAgent(
            programName: info?["CFBundleName"] as? String ?? ProcessInfo.processInfo.processName,
            programVersion: info?["CFBundleVersion"] as? String, libraryVersion: libraryVersion, kernelVersion: kernel)
    }()
}
