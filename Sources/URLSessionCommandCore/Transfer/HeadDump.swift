import Foundation
import LoadingEvents

/// The file of `-D`: all response heads of all loads, as on the wire.
///
/// Unchecked: `lock` guards the descriptor. Loads in parallel write to one file.
final class HeadDump: @unchecked Sendable {
    private let path: String
    private let createsFolders: Bool
    private let lock = NSLock()
    private var descriptor: OutputDescriptor?

    init(path: String, createsFolders: Bool) {
        self.path = path
        self.createsFolders = createsFolders
    }

    func write(_ heads: [MessageHead]) throws(FileError) {
        if heads.isEmpty { return }
        let text = heads.map(\.text).joined()
        lock.lock()
        defer { lock.unlock() }
        if descriptor == nil { descriptor = try path == "-" ? .standardOutput : createFile() }
        try descriptor?.write(shown: text)
    }

    /// Closes the file. Without any response it is created empty, as in curl.
    func finish() throws(FileError) {
        lock.lock()
        defer { lock.unlock() }
        if descriptor == nil, path != "-" { descriptor = try createFile() }
        try descriptor?.finish()
        descriptor = nil
    }

    /// Only for its owner, because heads contain cookies. A file that exists has the mode that its owner has chosen.
    private func createFile() throws(FileError) -> OutputDescriptor {
        if createsFolders { try Folders.create(forFile: path) }
        return try OutputDescriptor.create(path: path, isPrivate: true, keepsMode: true)
    }
}

extension MessageHead {
    /// A response head as on the wire of HTTP/1.1; empty for a request.
    var text: String {
        guard case .response(let status, let reason) = start else { return "" }
        return HeadPrinter(style: TextStyle(isColored: false), isFormatted: false, isUTF8: true).responseHead(
            status: status, version: version, reason: reason, fields: fields.map { ($0.name, $0.value) })
    }
}
