internal import LoadingEvents
internal import LoadingSemantics

/// Where origins offer HTTP/3: the alternative services that they advertised (CONN-6), and
/// the services that failed recently (CONN-8). Confined to the loop of the session's pool. The code that it calls does
/// not call back, so exclusive access to what each request uses is not checked.
final class HTTP3Services {
    private let advertised: any AlternativeServicesStore
    /// Whether other hosts than the origin's may be used. With proxies configured, a proxy may apply to those hosts.
    private let mayBeElsewhere: Bool
    private let clock: LoopClock
    /// Hosts and ports that QUIC does not reach, for all origins.
    @exclusivity(unchecked) private var unreachable = BrokenServices<HostPort>()
    /// Alternative services that are not authoritative for an origin. This is recorded per origin, so that an origin
    /// cannot harm a service by advertising it.
    @exclusivity(unchecked) private var misdirected = BrokenServices<MisdirectedAlternative>()
    /// The machine's addresses at the last check. Nil until the first entry is recorded or used.
    @exclusivity(unchecked) private var addresses: LocalAddresses?
    /// The number of address changes that were detected.
    private(set) var networkChanges = 0

    private struct MisdirectedAlternative: Hashable {
        let hostPort: HostPort
        let origin: HostPort
    }

    init(_ advertised: any AlternativeServicesStore, mayBeElsewhere: Bool = true, clock: LoopClock) {
        self.advertised = advertised
        self.mayBeElsewhere = mayBeElsewhere
        self.clock = clock
    }

    /// The service to try; nil if none is known, or all known services have failed.
    ///
    /// - Parameters:
    ///   - isAssumed: Whether to try the origin itself, whatever is known (CONN-7).
    ///   - isWatched: Whether network changes are reported. If not, this method checks for a change.
    func service(of origin: HostPort, isAssumed: Bool, isWatched: Bool, at now: Int64) -> AlternativeService? {
        var services = advertised.services(of: origin, at: clock.wallTime)
        let isKnowing = addresses != nil || !services.isEmpty
        if isKnowing, !isWatched || addresses == nil {
            lookAtNetwork()
            services = advertised.services(of: origin, at: clock.wallTime)
        }
        if let known = services.first(where: { isUsable($0, of: origin, at: now) }) { return known }
        return isAssumed && !isBroken(origin, at: now) ? AlternativeService(port: origin.port) : nil
    }

    /// Like the method above, for services from HTTPS records in DNS.
    func service(of origin: HostPort, among records: [HTTPSRecord], at now: Int64) -> AlternativeService? {
        HTTPSRecord.http3(among: records, of: origin) { isUsable($0, of: origin, at: now) }
    }

    /// A service that QUIC did not reach recently, but whose server has not declined the origin.
    func failedService(of origin: HostPort, isAssumed: Bool, at now: Int64) -> AlternativeService? {
        var services = advertised.services(of: origin, at: clock.wallTime)
        if isAssumed { services.append(AlternativeService(port: origin.port)) }
        return services.first { service in
            let hostPort = service.hostPort(for: origin)
            return (mayBeElsewhere || hostPort.host == origin.host) && unreachable.contains(hostPort, at: now)
                && !misdirected.contains(MisdirectedAlternative(hostPort: hostPort, origin: origin), at: now)
        }
    }

    private func isUsable(_ service: AlternativeService, of origin: HostPort, at now: Int64) -> Bool {
        let hostPort = service.hostPort(for: origin)
        return (mayBeElsewhere || hostPort.host == origin.host) && !isBroken(hostPort, for: origin, at: now)
    }

    /// Whether HTTP/3 failed recently at an origin's own host and port.
    func isBroken(_ origin: HostPort, at now: Int64) -> Bool { isBroken(origin, for: origin, at: now) }

    private func isBroken(_ hostPort: HostPort, for origin: HostPort, at now: Int64) -> Bool {
        unreachable.contains(hostPort, at: now)
            || misdirected.contains(MisdirectedAlternative(hostPort: hostPort, origin: origin), at: now)
    }

    /// Records the `Alt-Svc` field of an origin's response.
    func note(_ fields: HTTPFields, from url: HTTPURL) {
        // Called for each response; few have the field.
        guard fields.contains("Alt-Svc") else { return }
        noteAddresses()
        advertised.note(fields, from: url, at: clock.wallTime)
    }

    func failed(_ service: AlternativeService, of origin: HostPort, at now: Int64) {
        noteAddresses()
        unreachable.failed(service.hostPort(for: origin), at: now)
    }

    /// The server at the service answers, but is not accepted as the origin.
    func isRefused(_ service: AlternativeService, of origin: HostPort, at now: Int64) {
        noteAddresses()
        misdirected.failed(MisdirectedAlternative(hostPort: service.hostPort(for: origin), origin: origin), at: now)
    }

    func succeeded(_ service: AlternativeService, of origin: HostPort) {
        let hostPort = service.hostPort(for: origin)
        unreachable.succeeded(hostPort)
        misdirected.succeeded(MisdirectedAlternative(hostPort: hostPort, origin: origin))
    }

    /// The server responded that it is not authoritative for the origin (RFC 7838 §6). The service is not used for a
    /// while, even if the origin advertises it again.
    func isMisdirected(_ service: AlternativeService, of origin: HostPort, at now: Int64) {
        advertised.remove(service, of: origin)
        isRefused(service, of: origin, at: now)
    }

    /// Returns the number of network changes so far. The caller compares it later to detect a change.
    func noteNetwork() -> Int {
        noteAddresses()
        return networkChanges
    }

    private func noteAddresses() { if addresses == nil { lookAtNetwork() } }

    private func lookAtNetwork() { if let addresses = LocalAddresses() { networkChanged(to: addresses) } }

    /// Sets the machine's current addresses. After a change, recorded failures may not apply any more, and advertised
    /// services may have been for the other network.
    func networkChanged(to addresses: LocalAddresses) {
        // Most notifications change nothing: an address lifetime is renewed, or an unrelated route is added.
        if let before = self.addresses, before != addresses {
            unreachable.removeAll()
            misdirected.removeAll()
            networkChanges += 1
        }
        self.addresses = addresses
        // Another session with the same store may have reported the change already. Services recorded since then are
        // for this network.
        if advertised.network.changes(to: addresses) { advertised.networkChanged(at: clock.wallTime) }
    }
}
