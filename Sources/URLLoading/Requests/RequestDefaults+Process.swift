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
        let value =
            ["LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG"].lazy
            .compactMap { (name: String) in getenv(name).map { String(cString: $0) } }.first { !$0.isEmpty } ?? ""
        let tags = value.split(separator: ":").map { name in
            String(name.prefix { $0 != "." && $0 != "@" }.map { $0 == "_" ? "-" : $0 })
        }
        return acceptLanguage(tags.filter { $0 != "C" && $0 != "POSIX" }) ?? acceptLanguage(["en-US"])
    }()

    private static let processUserAgent: String = {
        var system = utsname()
        uname(&system)
        let kernel = withUnsafeBytes(of: &system.release) { bytes in
            String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
        let executable = String(unsafeUninitializedCapacity: Int(PATH_MAX)) { buffer in
            buffer.withMemoryRebound(to: CChar.self) { path in
                path.baseAddress.map { max(0, readlink("/proc/self/exe", $0, path.count)) } ?? 0
            }
        }
        let folder = executable.split(separator: "/").dropLast().joined(separator: "/")
        // Asking Foundation for the main bundle searches folders for a millisecond, and hardly any program has one.
        let hasBundle = ["/Info.plist", "/Resources/Info.plist", "/../Info.plist"].contains {
            access("/\(folder)\($0)", F_OK) == 0
        }
        let info = hasBundle ? Bundle.main.infoDictionary : nil
        return userAgent(
            programName: info?["CFBundleName"] as? String ?? executable.split(separator: "/").last.map { String($0) }
                ?? "program",
            programVersion: info?["CFBundleVersion"] as? String, libraryVersion: libraryVersion, kernelVersion: kernel)
    }()
}
