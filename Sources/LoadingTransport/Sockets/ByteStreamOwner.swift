/// Told on the loop whenever a stream may be read or written again, and when a connect has an outcome.
package protocol ByteStreamOwner: AnyObject {
    func streamBecameReady(_ stream: ByteStream)
}
