internal import CLoadingLinux
internal import LoadingSemantics

/// Where origins speak HTTP/3, as far as a session knows: what they have said (CONN-6), and where it did not work lately
/// (CONN-8). Confined to the loop of the session's pool.
final class HTTP3Services {
    private let said: any AlternativeServicesStore
    /// What QUIC does not reach, whoever is looked for there.
    private var unreachable = BrokenServices<HostPort>()
    /// Who does not speak for an origin. To be named by others does nobody harm, so that is between the two.
    private var strangers = BrokenServices<Stranger>()
    /// The machine's addresses when the first of this was learnt or used, and when they were last looked at.
    private var addresses: LocalAddresses?
    /// How often it was noticed that they are others.
    private(set) var networkChanges = 0

    private struct Stranger: Hashable {
        let place: HostPort
        let origin: HostPort
    }

    init(_ said: any AlternativeServicesStore) { self.said = said }

    /// Where to try; nil if nowhere is known, or all that is known has failed.
    ///
    /// - Parameters:
    ///   - isAssumed: Whether the origin itself is to be tried, whatever is known (CONN-7).
    ///   - mayBeElsewhere: Whether other hosts may be gone to. Where there are proxies, one may be meant for them.
    ///   - isWatched: Whether a change of the network is told; else it is looked whether there was one.
    func service(
        of origin: HostPort, isAssumed: Bool, mayBeElsewhere: Bool, isWatched: Bool, at now: Int64
    ) -> AlternativeService? {
        var services = said.services(of: origin, at: Self.today)
        let isKnowing = addresses != nil || !services.isEmpty
        if isKnowing, !isWatched || addresses == nil {
            lookAtNetwork()
            services = said.services(of: origin, at: Self.today)
        }
        let known = services.first { isUsable($0, of: origin, mayBeElsewhere: mayBeElsewhere, at: now) }
        if let known { return known }
        return isAssumed && !isBroken(origin, at: now) ? AlternativeService(port: origin.port) : nil
    }

    /// The same of what records of DNS say.
    func service(
        of origin: HostPort, among records: [HTTPSRecord], mayBeElsewhere: Bool, at now: Int64
    ) -> AlternativeService? {
        HTTPSRecord.http3(among: records, of: origin) {
            isUsable($0, of: origin, mayBeElsewhere: mayBeElsewhere, at: now)
        }
    }

    private func isUsable(
        _ service: AlternativeService, of origin: HostPort, mayBeElsewhere: Bool, at now: Int64
    ) -> Bool {
        let place = service.hostPort(for: origin)
        return (mayBeElsewhere || place.host == origin.host) && !isBroken(place, for: origin, at: now)
    }

    /// Whether HTTP/3 has failed at an origin's own place lately.
    func isBroken(_ origin: HostPort, at now: Int64) -> Bool { isBroken(origin, for: origin, at: now) }

    private func isBroken(_ place: HostPort, for origin: HostPort, at now: Int64) -> Bool {
        unreachable.contains(place, at: now) || strangers.contains(Stranger(place: place, origin: origin), at: now)
    }

    /// What a response of an origin says.
    func note(_ fields: HTTPFields, from url: HTTPURL) {
        // Asked of each response: few have one.
        guard fields.contains("Alt-Svc") else { return }
        noteAddresses()
        said.note(fields, from: url, at: Self.today)
    }

    func failed(_ service: AlternativeService, of origin: HostPort, at now: Int64) {
        noteAddresses()
        unreachable.failed(service.hostPort(for: origin), at: now)
    }

    /// There is a server, and it is not taken for the origin.
    func isRefused(_ service: AlternativeService, of origin: HostPort, at now: Int64) {
        noteAddresses()
        strangers.failed(Stranger(place: service.hostPort(for: origin), origin: origin), at: now)
    }

    func succeeded(_ service: AlternativeService, of origin: HostPort) {
        let place = service.hostPort(for: origin)
        unreachable.succeeded(place)
        strangers.succeeded(Stranger(place: place, origin: origin))
    }

    /// The server there says that it is not the origin (RFC 7838 §6), and is left alone though the origin may name it again.
    func isMisdirected(_ service: AlternativeService, of origin: HostPort, at now: Int64) {
        said.remove(service, of: origin)
        isRefused(service, of: origin, at: now)
    }

    /// Something begins in the network that is there now. How often that has changed tells later whether it is the same.
    func noteNetwork() -> Int {
        noteAddresses()
        return networkChanges
    }

    private func noteAddresses() { if addresses == nil { lookAtNetwork() } }

    private func lookAtNetwork() { if let addresses = LocalAddresses() { networkChanged(to: addresses) } }

    /// These are the machine's addresses now. If they were others what was in the way may be gone, and what was said may
    /// have been for the other network.
    func networkChanged(to addresses: LocalAddresses) {
        // Most of what is told changes nothing: a lifetime is renewed, or somebody else's route comes.
        if let before = self.addresses, before != addresses {
            unreachable.removeAll()
            strangers.removeAll()
            networkChanges += 1
        }
        self.addresses = addresses
        // Another session may have seen to that already, and what was said since then is for this network.
        if said.network.changes(to: addresses) { said.networkChanged(at: Self.today) }
    }

    /// Seconds since 1970.
    private static var today: Int64 { cll_wall_now() / 1_000_000_000 }
}
