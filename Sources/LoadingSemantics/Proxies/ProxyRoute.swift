/// The ways to a server, in the order in which they are tried.
package struct ProxyRoute: Sendable, Hashable {
    package enum Way: Sendable, Hashable {
        case direct
        case through(ProxyServer)
    }

    package let ways: [Way]
    /// Why the script could not be asked that was to pick them.
    private var lack: Lack?

    private enum Lack: Sendable {
        case script
        case credentials
    }

    package init(_ ways: [Way]) { self.ways = ways }

    package static func through(_ server: ProxyServer) -> ProxyRoute { ProxyRoute([.through(server)]) }

    package static let direct = ProxyRoute([.direct])

    /// A proxy is wanted, and nobody can tell which. To go without it would show the user's network what it was to hide.
    package static let blocked = ProxyRoute([])

    /// The same, since the script that was to tell could not be asked.
    package static let unknown = ProxyRoute(lack: .script)

    /// The same, since where it is somebody wants to know who the user is.
    package static let guarded = ProxyRoute(lack: .credentials)

    private init(lack: Lack) {
        ways = []
        self.lack = lack
    }

    /// Whether somebody has said so who was asked.
    var isAnswer: Bool { lack == nil }

    /// Why there is no way.
    package func failure(_ service: ProxyFailure.Service) -> ProxyFailure {
        switch lack {
        case nil: .unusableSettings(service)
        case .script: .scriptFailed
        case .credentials: .scriptNeedsCredentials
        }
    }

    package var isDirect: Bool { ways == [.direct] }

    package var firstProxy: ProxyServer? {
        for case .through(let proxy) in ways { return proxy }
        return nil
    }
}

extension ProxyRoute {
    /// Reads what libproxy says: a proxy a line, "direct://" for none. Nothing at all means none too; what nobody
    /// understands is left out.
    package init(desktop text: String) {
        var ways: [Way] = []
        let lines = text.utf8.prefix(PACResult.Limit.length).split(separator: UInt8(ascii: "\n"))
        for line in lines where ways.count < PACResult.Limit.ways {
            let line = String(Substring(line))
            let way: Way? = line.hasPrefix("direct:") ? .direct : ProxyServer(line).map { .through($0) }
            if let way, !ways.contains(way) { ways.append(way) }
        }
        self = lines.isEmpty ? .direct : ProxyRoute(ways)
    }
}
