import Foundation

/// The permissions of the file or link of that name; nil if there is none.
func mode(_ path: String) -> mode_t? {
    var status = stat()
    return lstat(path, &status) == 0 ? status.st_mode & 0o7777 : nil
}

/// The names in a folder.
func names(_ path: String) -> [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted()
}

func contents(_ path: String) -> Data? { FileManager.default.contents(atPath: path) }
