internal import Foundation

extension DelegateReference {
    package func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
    ) -> Bool {
        guard let downloadDelegate else { return false }
        downloadDelegate.urlSession(session, downloadTask: downloadTask, didFinishDownloadingTo: location)
        return true
    }

    package func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
    ) -> Bool {
        guard let downloadDelegate else { return false }
        return deliver(.downloadTaskDidWriteData) {
            downloadDelegate.urlSession(
                session, downloadTask: downloadTask, didWriteData: bytesWritten, totalBytesWritten: totalBytesWritten,
                totalBytesExpectedToWrite: totalBytesExpectedToWrite)
        }
    }

    package func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didResumeAtOffset fileOffset: Int64,
        expectedTotalBytes: Int64
    ) -> Bool {
        guard let downloadDelegate else { return false }
        return deliver(.downloadTaskDidResume) {
            downloadDelegate.urlSession(
                session, downloadTask: downloadTask, didResumeAtOffset: fileOffset,
                expectedTotalBytes: expectedTotalBytes)
        }
    }
}
