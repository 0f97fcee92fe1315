internal import LoadingEvents
package import LoadingSemantics

/// What origins have said about where else they speak HTTP/3 (CONN-6), as the sessions know it that share this. May be used
/// from any thread, also a loop's: nothing here waits for a disk.
package protocol AlternativeServicesStore: AnyObject, Sendable {
    func services(of origin: HostPort, at now: Int64) -> [AlternativeService]
    /// Does what a response says.
    func note(_ fields: HTTPFields, from url: HTTPURL, at now: Int64)
    /// The server there says that it is not the origin.
    func remove(_ service: AlternativeService, of origin: HostPort)
    /// The network in which all this was said, as far as it is for one alone.
    var network: KnownNetwork { get }
    /// What was said for the network alone that was there before is forgotten.
    func networkChanged(at now: Int64)
    func removeAll()
}

/// One that is in memory alone.
package final class TransientAlternatives: AlternativeServicesStore, @unchecked Sendable {
    // Sendable because the table is guarded by `lock`.
    private let lock = Lock()
    private var table = AlternativeServices()
    package let network = KnownNetwork()

    package init() {}

    package func services(of origin: HostPort, at now: Int64) -> [AlternativeService] {
        lock.withLock { table.services(of: origin, at: now) }
    }

    package func note(_ fields: HTTPFields, from url: HTTPURL, at now: Int64) {
        lock.withLock { _ = table.note(fields, from: url, at: now) }
    }

    package func remove(_ service: AlternativeService, of origin: HostPort) {
        lock.withLock { _ = table.remove(service, of: origin) }
    }

    package func networkChanged(at now: Int64) { lock.withLock { _ = table.networkChanged(at: now) } }
    package func removeAll() { lock.withLock { table.removeAll() } }
}
