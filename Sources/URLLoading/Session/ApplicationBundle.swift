internal import Foundation
internal import Glibc

/// What is known of the program that this process runs.
enum ApplicationBundle {
    /// What its Info.plist says; nil if it has none.
    static var information: [String: Any]? { mayHaveInformation ? Bundle.main.infoDictionary : nil }

    /// The identifier of its bundle, or the name of its executable (C-36).
    static let identifier: String = {
        if let identifier = information?["CFBundleIdentifier"] as? String, !identifier.isEmpty { return identifier }
        let path = executable ?? CommandLine.arguments.first ?? ""
        return path.split(separator: "/").last.map(String.init) ?? "url-loading"
    }()

    private static let executable: String? = {
        let path = [CChar](unsafeUninitializedCapacity: Int(PATH_MAX)) { buffer, count in
            count = buffer.baseAddress.map { max(0, readlink("/proc/self/exe", $0, buffer.count)) } ?? 0
        }
        // What the kernel adds when the file has been removed, or another one has its name.
        let removed = " (deleted)"
        let text = String(decoding: path.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        if text.isEmpty { return nil }
        return text.hasSuffix(removed) ? String(text.dropLast(removed.count)) : text
    }()

    /// Whether there is anything in the places where Foundation looks for the file of a program. To have it look costs a
    /// third of a millisecond, which is much at the start of a program, and most have no such file.
    private static let mayHaveInformation: Bool = {
        let parts = (executable ?? "").split(separator: "/", omittingEmptySubsequences: false)
        let folder = parts.dropLast().joined(separator: "/")
        return ["Info.plist", "Resources/Info.plist", "Contents/Info.plist"]
            .contains { access(folder + "/" + $0, F_OK) == 0 }
    }()
}
