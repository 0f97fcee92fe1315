/// A task that writes the body of its response to a file.
///
/// The file is written as the body comes, in the folder for temporary files, readable by this user only. An HTTP status
/// is no error: the body of a 404 is what is in the file then.
open class URLSessionDownloadTask: URLSessionTask, @unchecked Sendable {
    // Sendable as every task is.
}
