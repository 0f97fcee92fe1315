package import LoadingSemantics

/// What the end of a WebSocket waits for when nothing more comes.
package enum AwaitedTaking {
    case nothing
    /// Messages are unread.
    case messages
    /// The caller of an `async` method has been given the last message. It resumes on an executor of its own, and would
    /// get the end before.
    case caller
}

/// The client of a WebSocket: a task. Called on the load's loop; must not block.
package protocol WebSocketClient: LoadClient {
    func load(_ load: WebSocketLoad, didRead count: Int)
    /// The kernel has accepted so many octets.
    func load(_ load: WebSocketLoad, didWrite count: Int)
    /// A whole message, which is there until the call returns. The octets of text are UTF-8. False if that is enough
    /// for now, until `resumeReading`.
    func load(_ load: WebSocketLoad, didReceive octets: UnsafeRawBufferPointer, isText: Bool) -> Bool
    /// Whether the load is suspended, and with it the messages that were received.
    func load(_ load: WebSocketLoad, holdsMessages: Bool)
    /// The close frames have been exchanged, or the connection is lost. What the end has to wait for; `resumeReading`
    /// is to be called each time that a message is taken, or waited for.
    func loadAwaits(_ load: WebSocketLoad) -> AwaitedTaking
    /// The server has broken the protocol. `fail` is to be called when the client has taken in what came before.
    func loadHasFault(_ load: WebSocketLoad)
    /// Unread messages are dropped.
    func loadDropsMessages(_ load: WebSocketLoad)
    /// The server has closed, or confirmed the closing. The end follows.
    func load(_ load: WebSocketLoad, didCloseWith code: UInt16, reason: [UInt8])
    /// The connection has ended without a closing handshake. The pending operations fail next. The end follows, after
    /// what `loadAwaits` says.
    func load(_ load: WebSocketLoad, willFailWith error: LoadError)
}
