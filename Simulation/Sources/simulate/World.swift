import CSimulation
import Foundation

/// The hosts of a world, and what is wrong with them.
struct World {
    struct Host {
        /// Nil if it is left out.
        var server: OriginServer?
        var name: String
        /// Whether every load from it has to succeed.
        var isFaultless: Bool
        /// The same, when the network does not change any more.
        var isFaultlessAtLast = false
        /// Whether large bodies take little time.
        var isWide = false
        /// Whether its name gets another address, and the one of before takes no more connections.
        var moves = false
        var offersHTTP2 = false
        var offersHTTP3 = false
    }

    /// Nil if the seed decides about everything.
    nonisolated(unsafe) static var kind: SimulatedProcess.Kind?
    let hosts: [Host]
    /// Nil if the hosts are reached without one.
    let proxy: ProxyServer?
    let disk: SimulatedDisk
    /// Nil if the network stays as it is.
    let networkChanges: NetworkChanges?
    /// A name without an address, and one whose host takes no connection.
    static let unknownName = "unknown.example"
    static let closedName = "closed.example"
    /// Hosts whose certificate has expired, or is of another name.
    static let expiredName = "expired.example", wrongHostName = "mismatch.example"

    var isFaultless: Bool { hosts.allSatisfy(\.isFaultless) }

    /// Of one site, and one name ends with another, so that a cookie could go astray.
    private static let names = ["host0", "ahost0", "host2", "host3"].map { "\($0).site.example" }

    /// Before worlds are forked.
    static func prepareCertificates() {
        for name in names { simulation_tls_prepare_host(name, simulation_tls_options()) }
        for name in [expiredName, wrongHostName] { simulation_tls_prepare_host(name, badCertificate(of: name)) }
    }

    private static func badCertificate(of name: String) -> simulation_tls_options {
        var options = simulation_tls_options()
        (options.is_expired, options.has_wrong_name) = (name == expiredName, name == wrongHostName)
        return options
    }

    /// - Parameter isForBackground: The files of a background session are those of another process.
    init(isForBackground: Bool = false) {
        let choices = Choices("world")
        let disk = SimulatedDisk(mayFail: !isForBackground)
        self.disk = disk
        let names = Self.names.prefix(1 + choices.below(4))
        let present = names.filter { Parts.has($0) }
        // A redirect to a host that is left out goes to another one.
        let targets = names.map { present.contains($0) ? $0 : present.first ?? $0 }
        // A third of the worlds has no faults, so that everything has to succeed.
        let isFaultless = choices.oneIn(3)
        let isBehindProxy = choices.oneIn(3) && Parts.has(ProxyServer.name)
        let isProxyFaultless = isFaultless || choices.oneIn(2) || !isBehindProxy
        let hasIPv6 = Choices("IPv6").oneIn(2)
        NetworkChanges.begin(hasIPv6: hasIPv6)
        let networkChanges = NetworkChanges(hasIPv6: hasIPv6, isForBackground: isForBackground)
        self.networkChanges = networkChanges
        let hasHTTP3 = !Choices("HTTP/3").oneIn(3) && !isBehindProxy && Self.kind != .proven
        hosts = names.enumerated().map { index, name in
            let choices = Choices(name), mayFailAlone = !isFaultless
            let isFaultless = (isFaultless || choices.oneIn(3)) && isProxyFaultless
            guard present.contains(name) else { return Host(server: nil, name: name, isFaultless: isFaultless) }
            let ipv4 = 0x0A00_0100 + UInt64(index)
            var addresses = Self.addresses(of: name, ipv4)
            let tls = Self.tls(of: name)
            // A host that is far leaves a request no time for both.
            let offersHTTP3 = hasHTTP3 && !(isFaultless && Self.link(to: name, isFaultless: true).latency > second / 20)
            let offer =
                offersHTTP3 ? HTTP3Service.Offer(of: name, isFaultless: isFaultless, mayFailAlone: mayFailAlone) : nil
            let mayMove = !isBehindProxy && offer == nil
            let moves = mayMove && Self.happens("moves", to: name, oneIn: 4)
            if moves { addresses.append(Self.move(name, from: ipv4)) }
            let path = Self.path(to: name, isFaultless: isFaultless, mayFailAlone: mayFailAlone)
            for address in addresses { Self.makeLink(to: address, of: name, isFaultless: isFaultless) }
            if offer != nil {
                Self.makePath(path, to: addresses, of: name, isFaultless: isFaultless, mayFailAlone: mayFailAlone)
            }
            let server = OriginServer(
                name: name, addresses: addresses, faults: Self.faults(of: name, isFaultless: isFaultless),
                others: targets,
                isReliable: isFaultless && !disk.disturbsEveryTask && networkChanges == nil, tls: tls, http3: offer)
            if !isFaultless, choices.oneIn(6), Parts.has("\(name) loses packets") {
                Self.losePackets(of: addresses, name)
            }
            if isForBackground, BackgroundPlan.isLong, choices.oneIn(2), Parts.has("\(name) is away for hours") {
                Self.leaveForHours(addresses, name)
            }
            let link = Self.link(to: name, isFaultless: isFaultless)
            return Host(
                server: server, name: name,
                isFaultless: isFaultless && !disk.disturbsEveryTask && networkChanges == nil,
                isFaultlessAtLast: isFaultless && !disk.disturbsEveryTask,
                isWide: Self.isFast(link) && !isBehindProxy
                    && (offer == nil || path.losses + path.marks == 0 && path.receive_buffer > 100_000),
                moves: moves, offersHTTP2: tls.offers_http2, offersHTTP3: offer != nil)
        }
        let bad = [(Self.expiredName, UInt64(0x0A00_0400)), (Self.wrongHostName, 0x0A00_0401)].map { name, address in
            simulation_add_name(name, address, second / 20)
            var tls = Self.badCertificate(of: name)
            tls.offers_http2 = choices.oneIn(2)
            return OriginServer(
                name: name, addresses: [address], faults: OriginServer.Faults(), others: [name],
                isReliable: false, tls: tls)
        }
        let servers = hosts.compactMap(\.server) + bad
        let proxies = isForBackground ? ProxyServer.Kind.ofBackground : ProxyServer.Kind.allCases
        proxy = isBehindProxy ? Self.makeProxy(of: proxies, isFaultless: isProxyFaultless, hosts: servers) : nil
        simulation_add_name(Self.closedName, 0x0A00_0200, second / 20)
        if choices.oneIn(4), Parts.has("wall clock") {
            if isForBackground { BackgroundPlan.setClock(choices) } else { Self.setWallClock(choices) }
        }
    }

    private static func faults(of host: String, isFaultless: Bool) -> OriginServer.Faults {
        var faults = OriginServer.Faults()
        func choose(_ fault: OriginServer.Fault, _ name: String, oneIn chance: Int, _ rate: (Choices) -> Int) {
            let part = "\(host) \(name)", choices = Choices(part)
            if choices.oneIn(chance), Parts.has(part) { faults.rates[fault] = rate(choices) }
        }
        choose(.slowness, "is slow", oneIn: 2) { 1 + $0.below(8) }
        // Requests that wait for one connection after the other, to a host that is far, have not enough time.
        let isFar = link(to: host, isFaultless: isFaultless).latency > second / 20
        choose(.close, "closes", oneIn: 2) { (isFar ? 4 : 1) + $0.below(8) }
        choose(.leftOver, "sends more than it announces", oneIn: 3) { 1 + $0.below(8) }
        choose(.announcedLifetime, "announces how long it keeps connections", oneIn: 3) { 1 + $0.below(4) }
        if isFaultless { return faults }
        choose(.reset, "resets", oneIn: 3) { 2 + $0.below(20) }
        choose(.earlyReset, "resets before it answers", oneIn: 3) { 2 + $0.below(20) }
        choose(.wrongConfirmation, "confirms what was not asked", oneIn: 3) { 1 + $0.below(4) }
        choose(.truncation, "truncates", oneIn: 3) { 2 + $0.below(20) }
        choose(.silence, "goes silent", oneIn: 3) { 2 + $0.below(20) }
        choose(.refusal, "refuses streams", oneIn: 3) { 2 + $0.below(10) }
        choose(.abruptGoAway, "goes away abruptly", oneIn: 2) { 1 + $0.below(4) }
        let isImpolite = Choices("\(host) close_notify").oneIn(4)
        faults.missingCloseNotify = isImpolite && Parts.has("\(host) sends no close_notify")
        choose(.idleClose, "closes idle", oneIn: 2) { 1 + $0.below(3) }
        return faults
    }

    private static func tls(of host: String) -> simulation_tls_options {
        let choices = Choices("\(host) in TLS")
        var options = simulation_tls_options()
        options.is_old = choices.oneIn(4)
        options.tickets = choices.below(3)
        options.offers_http2 = !choices.oneIn(3) && Parts.has("\(host) offers HTTP/2")
        return options
    }

    /// Those at which the host is. Its name may have others, where nothing is.
    private static func addresses(of host: String, _ ipv4: simulation_address) -> [simulation_address] {
        let choices = Choices("addresses of \(host)")
        let delays = [choices.seconds(choices.oneIn(8) ? 1 : 0.05), choices.seconds(choices.oneIn(8) ? 1 : 0.05)]
        func add(_ address: simulation_address) {
            simulation_add_name(host, address, delays[address >= simulation_ipv6 ? 1 : 0])
        }
        var addresses = [ipv4]
        let ipv6 = simulation_ipv6 + ipv4
        let hasIPv6 = choices.oneIn(2), isDead = choices.oneIn(4), isLast = choices.oneIn(2)
        if hasIPv6, Parts.has("\(host) has IPv6") {
            if isDead { kill(ipv6, choices) } else { addresses.append(ipv6) }
            add(ipv6)
        }
        // The name that was added last comes first.
        if isLast { add(ipv4) }
        for index in 0..<choices.below(3) {
            let family = choices.oneIn(2) ? simulation_ipv6 : 0
            let address = family + ipv4 + UInt64(index + 1) * 0x1_0000
            let part = "\(host) has dead address \(index)"
            guard choices.oneIn(2), Parts.has(part) else { continue }
            kill(address, Choices(part))
            add(address)
        }
        if !isLast { add(ipv4) }
        return addresses
    }

    /// The connections that there are go on. A name that was resolved just before has time for a connection; one that
    /// was resolved earlier has to be resolved again.
    private static func move(_ host: String, from ipv4: simulation_address) -> simulation_address {
        let choices = Choices("move of \(host)")
        let new = ipv4 + 0x8_0000, date = choices.seconds(choices.pick([3, 30, 100]))
        Later.after(date) { simulation_change_name(host, ipv4, new) }
        Later.after(date + 5 * second) { simulation_set_unreachable(ipv4, ECONNREFUSED) }
        return new
    }

    /// It refuses, swallows everything, or a router says that there is no way.
    private static func kill(_ address: simulation_address, _ choices: Choices) {
        switch choices.below(3) {
        case 0: break
        case 1: simulation_set_reachable(address, false)
        default: simulation_set_unreachable(address, choices.pick([EHOSTUNREACH, ENETUNREACH]))
        }
    }

    private static func makeProxy(
        of kinds: [ProxyServer.Kind], isFaultless: Bool, hosts: [OriginServer]
    ) -> ProxyServer {
        let choices = Choices(ProxyServer.name)
        let address: simulation_address = 0x0A00_0300
        makeLink(to: address, of: ProxyServer.name, isFaultless: isFaultless)
        return ProxyServer(
            choices.pick(kinds), address: address, needsPassword: choices.oneIn(2), hosts: hosts,
            isFaultless: isFaultless)
    }

    private static func makeLink(to address: simulation_address, of host: String, isFaultless: Bool) {
        simulation_set_link(address, link(to: host, isFaultless: isFaultless))
    }

    private static func link(to host: String, isFaultless: Bool) -> simulation_link {
        let choices = Choices("link to \(host)")
        var link = simulation_link()
        // One that is far away takes a window at a time, and a request may wait behind 64 KiB of others.
        let isNarrow = choices.oneIn(3)
        // Behind a proxy, a connection takes some round trips more.
        let isFar = choices.oneIn(4) && !isNarrow && host != ProxyServer.name
        link.latency = choices.seconds(isFar ? 0.2 : 0.02)
        link.jitter = choices.oneIn(2) ? 0 : link.latency
        link.largest_segment = Int32(choices.oneIn(4) ? 1 + choices.below(100) : 16_384)
        // Not so small that the largest body takes hours.
        link.send_buffer = Int32(isNarrow ? 1000 + choices.below(10_000) : 262_144)
        // As the kernel does where much is on the way.
        link.receive_buffer = choices.pick([131_072, 131_072, 1_048_576, 4_194_304])
        let breaks = choices.oneIn(4), breaksAfter = 1 + choices.size(upTo: 200_000)
        let silences = choices.oneIn(6), silentAfter = 1 + choices.size(upTo: 200_000)
        if !isFaultless, breaks, Parts.has("link to \(host) breaks") { link.breaks_after = Int64(breaksAfter) }
        if !isFaultless, silences, Parts.has("link to \(host) goes silent") { link.silent_after = Int64(silentAfter) }
        return link
    }

    /// That of datagrams. QUIC has to bear with it, and if it does not work there is TCP.
    private static func path(to host: String, isFaultless: Bool, mayFailAlone: Bool) -> simulation_datagram_path {
        let choices = Choices("datagrams of \(host)"), link = link(to: host, isFaultless: true)
        var path = simulation_datagram_path()
        (path.latency, path.jitter) = (link.latency, link.jitter)
        path.longest_datagram = choices.oneIn(3) ? 1200 + Int32(choices.below(250)) : 1472
        path.send_buffer = choices.oneIn(4) ? 2000 + Int32(choices.below(20_000)) : 262_144
        path.receive_buffer = choices.pick([32_768, 131_072, 4_194_304])
        path.octets_per_millisecond = choices.oneIn(4) ? 1000 : 100_000
        path.cuts_messages = !choices.oneIn(4)
        path.marks = choices.oneIn(4) ? 5 : 0
        guard mayFailAlone else { return path }
        // A request of a host without faults has five seconds: a packet is lost once, and not where it takes long to
        // notice.
        let isFar = path.latency > second / 20
        if happens("loses datagrams", to: host, oneIn: 3), !isFaultless || !isFar {
            path.losses = isFaultless ? 20 : Int32(1 + choices.below(200))
            path.most_losses_in_a_row = isFaultless ? 1 : 1000
        }
        // What is sent again comes sooner than that.
        if happens("loses the first datagram after a silence", to: host, oneIn: 2), !isFar {
            path.longest_silence = 2 * second
        }
        if happens("duplicates datagrams", to: host, oneIn: 3) { path.duplicates = 100 }
        if happens("delays datagrams", to: host, oneIn: 3) { path.delays = 100 }
        return path
    }

    /// Whether a request does not wait for seconds behind the large bodies of others on its connection: a host sends
    /// what the windows of HTTP/2 allow at once, and TCP takes a receive buffer for each round trip.
    private static func isFast(_ link: simulation_link) -> Bool {
        let longestRoundTrip = 2 * (link.latency + link.jitter), octetsPerSecond: Int64 = 4_000_000
        return link.largest_segment > 10_000 && link.send_buffer > 100_000
            && Int64(link.receive_buffer) * second >= octetsPerSecond * longestRoundTrip
    }

    private static func happens(_ fault: String, to host: String, oneIn chance: Int) -> Bool {
        Choices("\(host) \(fault)").oneIn(chance) && Parts.has("\(host) \(fault)")
    }

    private static func makePath(
        _ path: simulation_datagram_path, to addresses: [simulation_address], of host: String, isFaultless: Bool,
        mayFailAlone: Bool
    ) {
        let isBlocked = mayFailAlone && happens("has no UDP", to: host, oneIn: 6)
        let goesSilent = !isFaultless && happens("loses UDP", to: host, oneIn: 3)
        let choices = Choices("silence of UDP of \(host)")
        let start = choices.seconds(10), end = start + choices.seconds(100)
        for address in addresses {
            simulation_set_datagram_path(address, path)
            if isBlocked { simulation_set_datagrams_pass(address, false) }
            guard goesSilent, !isBlocked else { continue }
            Later.after(start) { simulation_set_datagrams_pass(address, false) }
            Later.after(end) { simulation_set_datagrams_pass(address, true) }
        }
    }

    /// For some seconds nothing passes.
    private static func losePackets(of addresses: [simulation_address], _ host: String) {
        let choices = Choices("lost packets of \(host)")
        let start = choices.seconds(3), end = start + choices.seconds(90)
        for address in addresses {
            Later.after(start) { simulation_set_reachable(address, false) }
            Later.after(end) { simulation_set_reachable(address, true) }
        }
    }

    private static func leaveForHours(_ addresses: [simulation_address], _ host: String) {
        let choices = Choices("absences of \(host)")
        var date = choices.oneIn(2) ? 0 : choices.seconds(86400)
        for _ in 0..<1 + choices.below(3) {
            let end = date + choices.seconds(20 * 3600)
            for address in addresses {
                Later.after(date) { simulation_set_reachable(address, false) }
                Later.after(end) { simulation_set_reachable(address, true) }
            }
            date = end + choices.seconds(20 * 3600)
        }
    }

    /// Each time up to half a year forward or back, which no timeout may notice, and no cookie of 399 days.
    private static func setWallClock(_ choices: Choices) {
        for index in 0..<1 + (choices.oneIn(3) ? choices.below(4) : 0) {
            Later.after(choices.seconds(choices.pick([3, 3, 30]))) {
                let choices = Choices("jump \(index) of the wall clock")
                simulation_set_wall_clock((choices.oneIn(2) ? 1 : -1) * choices.seconds(180 * 86400))
            }
        }
    }
}
