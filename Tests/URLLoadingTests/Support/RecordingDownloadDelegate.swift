import Foundation
import TestSupport
import URLLoading

/// Records the callbacks of downloads, and the contents of the file.
final class RecordingDownloadDelegate: RecordingDelegate, URLSessionDownloadDelegate, @unchecked Sendable {
    // Sendable as the class it comes from.
    let locations = EventRecorder<URL>()
    let contents = EventRecorder<Data>()

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
    ) {
        note(.wrote(downloadTask.taskIdentifier, totalBytesWritten, totalBytesExpectedToWrite), session, downloadTask)
    }

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didResumeAtOffset fileOffset: Int64,
        expectedTotalBytes: Int64
    ) {
        note(.resumed(downloadTask.taskIdentifier, fileOffset, expectedTotalBytes), session, downloadTask)
    }

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
    ) {
        let content = (try? Data(contentsOf: location)) ?? Data()
        locations.record(location)
        contents.record(content)
        note(.downloaded(downloadTask.taskIdentifier, content.count), session, downloadTask)
    }
}
