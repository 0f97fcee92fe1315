/// What a service process runs. Confined to the loop.
package protocol ServiceHost: AnyObject {
    /// Called once, before connections are accepted.
    func start()
    /// Takes a connection of the same user, and ownership of its descriptor.
    func accept(_ descriptor: Int32)
    /// Whether nothing is connected, runs, or waits.
    var isIdle: Bool { get }
    /// Stops what runs, and calls back when everything is in the journal. The process ends then.
    func stop(_ done: @escaping () -> Void)
}

extension TransferService: ServiceHost {}
