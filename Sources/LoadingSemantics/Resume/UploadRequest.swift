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
