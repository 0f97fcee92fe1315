internal import Foundation

/// Where downloads are written.
enum DownloadFolder {
    static var path: String {
        let path = NSTemporaryDirectory()
        return path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
    }
}
