public import Foundation

/// What a download task tells besides what every task does.
@preconcurrency public protocol URLSessionDownloadDelegate: URLSessionTaskDelegate {
    /// The file is complete. It is removed when this method returns: move it or read it here. The one method of all
    /// delegates that must be implemented.
    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL)

    /// Bytes were written to the file. The total includes what a resumed download had before; the expected total is
    /// −1 if unknown.
    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64)

    /// A download made from resume data goes on at that byte. The total is −1 if unknown.
    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didResumeAtOffset fileOffset: Int64,
        expectedTotalBytes: Int64)
}

extension URLSessionDownloadDelegate {
    public func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
    ) {
        markMissing(.downloadTaskDidWriteData, in: self)
    }

    public func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didResumeAtOffset fileOffset: Int64,
        expectedTotalBytes: Int64
    ) {
        markMissing(.downloadTaskDidResume, in: self)
    }
}
