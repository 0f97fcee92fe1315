/// Told on the writer's loop.
package protocol FileWriterObserver: AnyObject {
    /// So many more bytes were taken off the writer's hands. `hasRoom` says whether it takes more now; if not, this is
    /// told again.
    func fileWriterWrote(_ count: Int64, hasRoom: Bool)
    /// The last message: the file at this path is closed and has all that was written, or it could not be written and
    /// has been removed.
    func fileWriterClosed(_ outcome: Result<String, FileWriter.Failure>)
}
