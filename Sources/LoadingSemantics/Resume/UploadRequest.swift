/// A request that a resumable upload has its caller send.
package struct UploadRequest: Sendable, Equatable {
    package enum Purpose: Sendable, Equatable {
        /// The task's own request, which begins the upload.
        case creation
        /// Asks how much has arrived.
        case offsetRetrieval
        /// Goes on from an offset.
        case append
        case cancellation
    }

    package struct Body: Sendable, Equatable {
        /// Where in the task's body it starts.
        package var offset: Int64
        /// Nil: to the end, wherever that is.
        package var length: Int64?

        package init(offset: Int64, length: Int64?) {
            self.offset = offset
            self.length = length
        }
    }

    package var purpose: Purpose
    package var method: String
    package var url: String
    /// All that are to be sent, but for those that the loader writes itself.
    package var fields: HTTPFields
    /// Nil: none.
    package var body: Body?

    package init(purpose: Purpose, method: String, url: String, fields: HTTPFields, body: Body?) {
        self.purpose = purpose
        self.method = method
        self.url = url
        self.fields = fields
        self.body = body
    }
}
