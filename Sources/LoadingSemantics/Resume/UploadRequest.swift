/// A request of a resumable upload, for its caller to send.
package struct UploadRequest: Sendable, Equatable {
    package enum Purpose: Sendable, Equatable {
        /// The task's own request, which creates the upload resource.
        case creation
        /// Retrieves the offset.
        case offsetRetrieval
        /// Appends from an offset.
        case append
        case cancellation
    }

    package struct Body: Sendable, Equatable {
        /// The offset within the task's body.
        package var offset: Int64
        /// Nil means up to the end, if the length is unknown.
        package var length: Int64?

        package init(offset: Int64, length: Int64?) {
            self.offset = offset
            self.length = length
        }
    }

    package var purpose: Purpose
    package var method: String
    package var url: String
    /// All fields except those that the loader sets.
    package var fields: HTTPFields
    /// Nil means no body.
    package var body: Body?

    package init(purpose: Purpose, method: String, url: String, fields: HTTPFields, body: Body?) {
        self.purpose = purpose
        self.method = method
        self.url = url
        self.fields = fields
        self.body = body
    }
}

/// The next step of a resumable upload.
package enum UploadStep: Sendable, Equatable {
    /// Send a request after a pause in seconds.
    case send(UploadRequest, pause: Int)
    /// The current response is the result of the task.
    case deliver
    /// The task fails with the error that led here, or with a lost connection if a response did.
    case giveUp
    case fail(LoadError)
    /// The server proposes to continue at another origin. Ask the client, and call `move` if it agrees. The current
    /// request continues meanwhile.
    case askToMove(String)
}
