internal import CTestTLS
internal import Glibc

/// A second network namespace, connected to that of the test by a virtual Ethernet pair. The test's interface is
/// `near`, with 10.0.0.1/24 and fd00::1/64; the remote one has 10.0.0.2/24 and fd00::2/64.
///
///     let far = try RemoteNetwork()
///     let server = try far.perform { try ScriptedServer.answering(.everywhere) { … } }
package final class RemoteNetwork: Sendable {
    package static let address = "10.0.0.2"
    package static let address6 = "fd00::2"

    /// A DNS server in the test's namespace that resolves every name to both remote addresses.
    package static func nameServer() throws -> NameServer {
        try NetworkNamespace.raiseLoopback()
        return try NameServer { question in
            switch question.type {
            case .ipv4: .address([10, 0, 0, 2])
            case .ipv6: .address([0xFD] + [UInt8](repeating: 0, count: 14) + [2])
            case .https: .nothing
            }
        }
    }

    private let descriptor: Int32

    package init() throws {
        let made = Watched<Result<Int32, POSIXFailure>?>(nil)
        try JoinableThread(name: "test-far") {
            let descriptor = ctt_make_network()
            made.withValue { $0 = descriptor < 0 ? .failure(POSIXFailure("unshare")) : .success(descriptor) }
        }.join()
        guard let result = made.current else { throw NoNetworkNamespace() }
        descriptor = try result.get()
        let near = "\(getpid())"
        // An earlier interface is removed with a delay after its last use.
        try? NetworkNamespace.ip("link", "del", "near")
        try perform {
            try NetworkNamespace.ip("link", "set", "lo", "up")
            try NetworkNamespace.ip("link", "add", "far", "type", "veth", "peer", "name", "near", "netns", near)
            try NetworkNamespace.ip("address", "add", "10.0.0.2/24", "dev", "far")
            try NetworkNamespace.ip("address", "add", "fd00::2/64", "dev", "far", "nodad")
            try NetworkNamespace.ip("link", "set", "far", "up")
        }
        try NetworkNamespace.ip("address", "add", "10.0.0.1/24", "dev", "near")
        try NetworkNamespace.ip("address", "add", "fd00::1/64", "dev", "near", "nodad")
        try NetworkNamespace.ip("link", "set", "near", "up")
    }

    deinit {
        close(descriptor)
    }

    /// Runs `body` on a thread in the remote namespace. Sockets, threads and processes that it creates stay there.
    package func perform<Outcome: Sendable>(_ body: @escaping @Sendable () throws -> Outcome) throws -> Outcome {
        let outcome = Watched<Result<Outcome, any Error>?>(nil)
        try JoinableThread(name: "test-far") { [descriptor] in
            let result = Result {
                guard ctt_enter_network(descriptor) == 0 else { throw POSIXFailure("setns") }
                return try body()
            }
            outcome.withValue { $0 = result }
        }.join()
        guard let result = outcome.current else { throw NoNetworkNamespace() }
        return try result.get()
    }

    /// Silently drops all further packets to that address of the test's namespace.
    package func swallowPackets(to address: String) throws {
        let family = address.contains(":") ? "-6" : "-4"
        try perform { try NetworkNamespace.ip(family, "route", "add", "blackhole", address) }
    }

    /// Silently drops all further UDP packets from the remote namespace, over IPv4 and IPv6.
    package func swallowDatagrams(over family: Loopback = .ipv4) throws {
        let word = family == .ipv6 ? "-6" : "-4"
        try perform { try NetworkNamespace.ip(word, "rule", "add", "ipproto", "udp", "blackhole") }
    }
}
