package import FoundationEssentials
package import LoadingPipeline

/// A task as the program created it.
package struct TransferDescription: Codable, Equatable, Sendable {
    package enum Kind: String, Codable, Sendable {
        case download
        case upload
    }

    package var task: Int
    package var kind: Kind
    /// The request. Its `folder` is set by the service. The body is a file in the service's folder for uploads.
    package var request: TransferRequest
    /// The request as the program created it, for `originalRequest`: an archive of the library, which the service only
    /// keeps.
    package var original: Data
    /// The path of the file from which the program has created an upload, for resume data. Nil if there is none, and in
    /// journals of earlier versions.
    package var uploadPath: String?
    /// The number of seconds from its first start to its end (BG-10); nil for no limit.
    package var resourceTimeout: Double?
    /// The size of the response and of the request that the program expects, −1 if unknown.
    package var expectsToReceive: Int64 = -1
    package var expectsToSend: Int64 = -1
    /// The boot of the machine in which the body was written, if it was not synchronized. A task that is not in the
    /// journal when another boot begins may have a part of its body.
    package var bodyBoot: String?
    /// Whether a delegate may decide on a delayed task (BG-17).
    package var asksWhenDue = false

    package init(task: Int, kind: Kind, request: TransferRequest, original: Data = Data()) {
        self.task = task
        self.kind = kind
        self.request = request
        self.original = original
    }
}
