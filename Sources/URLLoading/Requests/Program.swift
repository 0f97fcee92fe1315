internal import Foundation

/// The running program.
package enum Program {
    /// The name of its executable.
    static let name = String(executable[folder.endIndex...])

    /// The bundle identifier, or the name of the executable (C-36).
    package static var identifier: String {
        if let identifier = information?["CFBundleIdentifier"] as? String, !identifier.isEmpty { return identifier }
        return name.isEmpty ? "url-loading" : name
    }

    /// Changes with the executable.
    static let fileIdentity: String = {
        var status = stat()
        guard stat("/proc/self/exe", &status) == 0 else { return "" }
        return "\(status.st_dev).\(status.st_ino).\(status.st_mtim.tv_sec).\(status.st_mtim.tv_nsec)"
    }()

    /// The contents of `Info.plist`; nil without one.
    // Immutable, so sharing it is safe.
    nonisolated(unsafe) static let information: [String: Any]? = {
        // Most programs have no bundle, and `Bundle.main` searches folders for about a millisecond.
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
        // The kernel appends this if the file was removed or replaced.
        let removed = " (deleted)"
        return path.hasSuffix(removed) ? String(path.dropLast(removed.count)) : path
    }()

    /// The folder of the executable, with a trailing slash.
    private static var folder: Substring {
        let end = executable.utf8.lastIndex(of: UInt8(ascii: "/")).map(executable.utf8.index(after:))
        return executable[..<(end ?? executable.startIndex)]
    }
}
