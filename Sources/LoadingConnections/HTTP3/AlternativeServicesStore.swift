internal import LoadingEvents
package import LoadingSemantics

/// The alternative services for HTTP/3 that origins advertised (CONN-6). Sessions can share one store. Safe to use from
/// any thread, including a loop's: no call waits for a disk.
package protocol AlternativeServicesStore: AnyObject, Sendable {
    func services(of origin: HostPort, at now: Int64) -> [AlternativeService]
    /// Records the `Alt-Svc` field of a response.
    func note(_ fields: HTTPFields, from url: HTTPURL, at now: Int64)
    /// Removes a service that is not authoritative for the origin.
    func remove(_ service: AlternativeService, of origin: HostPort)
    /// The network in which the network-specific entries were recorded.
    var network: KnownNetwork { get }
    /// Removes the entries that are specific to the previous network.
    func networkChanged(at now: Int64)
    func removeAll()
}

/// A store in memory only.
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
