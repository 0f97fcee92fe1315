package import LoadingSemantics

/// What is left of a download that stopped.
package struct StoppedDownload: Sendable {
    package var point: DownloadResumePoint
    /// Of the file with what has come.
    package var path: String

    package init(point: DownloadResumePoint, path: String) {
        self.point = point
        self.path = path
    }
}
