internal import Foundation
internal import LoadingTransport

extension Data {
    /// Resume data that removes the file at `path` when its last copy is released, unless the program has taken it
    /// (`take`).
    ///
    /// Bytes that are copied elsewhere are not counted as a copy.
    func removing(_ path: String) -> Data {
        guard let claim = UnfinishedFiles.shared.claim(on: path), !isEmpty, let memory = malloc(count) else {
            return self
        }
        copyBytes(to: UnsafeMutableRawBufferPointer(start: memory, count: count))
        return Data(
            bytesNoCopy: memory, count: count,
            deallocator: .custom({ memory, _ in
                free(memory)
                UnfinishedFiles.shared.remove(path, of: claim)
            }))
    }
}

extension DownloadResumeData {
    /// Keeps the file because the program has accessed the data. A download that resumes with the file takes ownership
    /// again.
    static func take(_ data: Data) {
        if let name = DownloadResumeData(data)?.safeFileName { UnfinishedFiles.shared.keep(named: name) }
    }
}
