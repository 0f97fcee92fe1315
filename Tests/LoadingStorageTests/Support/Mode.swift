import Foundation

/// The rights of what has that name, be it a link; nil if there is nothing.
func mode(_ path: String) -> mode_t? {
    var status = stat()
    return lstat(path, &status) == 0 ? status.st_mode & 0o7777 : nil
}

/// What is in a folder.
func names(_ path: String) -> [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted()
}

func contents(_ path: String) -> Data? { FileManager.default.contents(atPath: path) }
