package import LoadingSemantics
package import LoadingTransport

/// What is left of an upload that stopped.
package struct StoppedUpload: Sendable {
    package var point: UploadResumePoint
    /// What the file was like that was sent; nil if it was none.
    package var file: FileFacts?

    package init(point: UploadResumePoint, file: FileFacts?) {
        self.point = point
        self.file = file
    }
}
