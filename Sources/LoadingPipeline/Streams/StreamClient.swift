/// For whom a stream is driven: a task, seen from the engine. Called on the load's loop; must not block.
package protocol StreamClient: LoadClient {
    /// Whether the client may want to hear of better routes.
    var wantsBetterRoutes: Bool { get }
    /// So many bytes have been taken by reads, or by the kernel.
    func load(_ load: StreamLoad, didRead count: Int)
    func load(_ load: StreamLoad, didWrite count: Int)
    func loadHasClosedReading(_ load: StreamLoad)
    func loadHasClosedWriting(_ load: StreamLoad)
    func loadHasBetterRoute(_ load: StreamLoad)
    /// The connection is the client's, and nothing more is told.
    func load(_ load: StreamLoad, hasGivenAway captured: CapturedConnection)
}
