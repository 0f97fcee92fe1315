internal import Foundation
internal import LoadingTransport

extension Data {
    /// The same resume data. With its last copy the file goes that it speaks of, unless the program has taken it before.
    ///
    /// What is written elsewhere byte by byte is no copy: it can't be told from what is dropped.
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
    /// The program has the data, and the file is kept for it; a download that goes on in it makes it its own again.
    static func take(_ data: Data) {
        if let name = DownloadResumeData(data)?.safeFileName { UnfinishedFiles.shared.keep(named: name) }
    }
}
