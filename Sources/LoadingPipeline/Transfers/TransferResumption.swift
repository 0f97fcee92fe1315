package import LoadingSemantics
internal import LoadingTransport

/// The point at which a transfer stopped, so that another can resume (RES-1, RES-13).
package enum TransferResumption: Codable, Equatable, Sendable {
    case download(Download)
    case upload(Upload)

    package struct Download: Codable, Equatable, Sendable {
        /// The path of the file with the part that has arrived.
        package var path: String
        var originalURL: String
        var url: String
        var fields: [TransferField]
        var entityTag: String?
        var lastModified: String?
        package var bytesReceived: Int64
        var total: Int64?

        /// For the present length of the file, of a transfer that was running when this was saved. For a complete file
        /// the last byte is requested again. Nil if the file is longer than the resource.
        package func counted(byFileOf length: Int64) -> Download? {
            guard length >= 0, total.map({ length <= $0 }) ?? true else { return nil }
            var part = self
            part.bytesReceived = length == total ? max(0, length - 1) : length
            return part
        }
    }

    package struct Upload: Codable, Equatable, Sendable {
        var method: String
        var url: String
        var fields: [TransferField]
        var length: Int64?
        var uploadURL: String
        var maximumSize: Int64?
        var maximumAppendSize: Int64?
        var maximumAge: Int64?
        /// The length and the modification time of the file that was sent.
        var fileLength: Int64?
        var fileModified: Int64?
    }
}

extension TransferResumption.Download {
    package init(_ point: DownloadResumePoint, path: String) {
        self.path = path
        originalURL = point.originalURL
        url = point.url
        fields = [TransferField](point.requestFields)
        switch point.validator {
        case .entityTag(let tag): entityTag = tag
        case .lastModified(let date): lastModified = date
        // A transfer does not use FTP.
        case .modificationTime: break
        }
        bytesReceived = point.bytesReceived
        total = point.total
    }

    /// Nil if the values are invalid (RES-8).
    package var stopped: StoppedDownload? {
        guard
            let validator = entityTag.map({ ResumeValidator.entityTag($0) })
                ?? lastModified.map({ .lastModified($0) }),
            let point = DownloadResumePoint(
                originalURL: originalURL, url: url, requestFields: HTTPFields(fields), validator: validator,
                bytesReceived: bytesReceived, total: total, fileName: FileWriter.name(of: path))
        else { return nil }
        return StoppedDownload(point: point, path: path)
    }
}

extension TransferResumption.Upload {
    package init(_ stopped: StoppedUpload) {
        let point = stopped.point
        method = point.method
        url = point.url
        fields = [TransferField](point.fields)
        length = point.length
        uploadURL = point.uploadURL
        maximumSize = point.limits.maximumSize
        maximumAppendSize = point.limits.maximumAppendSize
        maximumAge = point.limits.maximumAge
        fileLength = stopped.file?.length
        fileModified = stopped.file?.modified
    }

    /// Nil if the values are invalid.
    package var stopped: StoppedUpload? {
        let limits = UploadLimits(
            maximumSize: maximumSize, maximumAppendSize: maximumAppendSize, maximumAge: maximumAge)
        guard
            let point = UploadResumePoint(
                method: method, url: url, fields: HTTPFields(fields), length: length, uploadURL: uploadURL,
                limits: limits)
        else { return nil }
        var file: FileFacts?
        if let fileLength, let fileModified { file = FileFacts(length: fileLength, modified: fileModified) }
        return StoppedUpload(point: point, file: file)
    }
}
