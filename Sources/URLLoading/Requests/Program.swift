internal import Foundation

/// The program that this is part of.
enum Program {
    /// The name of its executable.
    static let name = String(executable[folder.endIndex...])

    /// The identifier of its bundle, or the name of its executable (C-36).
    static var identifier: String {
        if let identifier = information?["CFBundleIdentifier"] as? String, !identifier.isEmpty { return identifier }
        return name.isEmpty ? "url-loading" : name
    }

    /// What its `Info.plist` says; nil without one.
    // Safe to share: it is never changed.
    nonisolated(unsafe) static let information: [String: Any]? = {
        // Asking Foundation for the main bundle searches folders for a millisecond, and hardly any program has one.
        let hasBundle = ["Info.plist", "Resources/Info.plist", "Contents/Info.plist"].contains {
            access("\(folder)\($0)", F_OK) == 0
        }
        return hasBundle ? Bundle.main.infoDictionary : nil
    }()

    private static let executable: String = {
        let path = String(unsafeUninitializedCapacity: Int(PATH_MAX)) { buffer in
            buffer.withMemoryRebound(to: CChar.self) { path in
                path.baseAddress.map { max(0, readlink("/proc/self/exe", $0, path.count)) } ?? 0
            }
        }
        // What the kernel adds when the file has been removed, or another one has its name.
        let removed = " (deleted)"
        return path.hasSuffix(removed) ? String(path.dropLast(removed.count)) : path
    }()

    /// With the slash at its end.
    private static var folder: Substring {
        let end = executable.utf8.lastIndex(of: UInt8(ascii: "/")).map(executable.utf8.index(after:))
        return executable[..<(end ?? executable.startIndex)]
    }
}
