import Foundation
import TestSupport
import Testing
import URLLoading

/// Multipath connections: there are two links to the server's network, and the load begins on the one that is then cut.
@Suite(
    .inNetworkNamespace, .needsNetworkNamespace, .timeLimit(.minutes(1)),
    .enabled(
        if: (try? String(contentsOfFile: "/proc/sys/net/mptcp/enabled", encoding: .utf8))?.hasPrefix("1") ?? false,
        "the kernel has no multipath TCP"))
struct MultipathTests {
    /// A second link, from 10.1.0.1 to 10.1.0.2, on which the kernel creates a second subflow for each connection.
    private func addCable(to far: RemoteNetwork) throws {
        let near = "\(getpid())"
        // What is left of the test before.
        try? NetworkNamespace.ip("link", "del", "near2")
        try? NetworkNamespace.ip("rule", "del", "from", "10.1.0.1")
        try NetworkNamespace.ip("mptcp", "endpoint", "flush")
        try far.perform {
            try NetworkNamespace.ip("link", "add", "far2", "type", "veth", "peer", "name", "near2", "netns", near)
            try NetworkNamespace.ip("address", "add", "10.1.0.2/24", "dev", "far2")
            try NetworkNamespace.ip("link", "set", "far2", "up")
            try NetworkNamespace.ip("mptcp", "limits", "set", "subflow", "2", "add_addr_accepted", "2")
        }
        try NetworkNamespace.ip("address", "add", "10.1.0.1/24", "dev", "near2")
        try NetworkNamespace.ip("link", "set", "near2", "up")
        // What comes from there goes there, whatever it is addressed to.
        try NetworkNamespace.ip("rule", "add", "from", "10.1.0.1", "lookup", "2")
        try NetworkNamespace.ip("route", "add", "default", "via", "10.1.0.2", "dev", "near2", "table", "2")
        try NetworkNamespace.ip("mptcp", "limits", "set", "subflow", "2", "add_addr_accepted", "2")
        try NetworkNamespace.ip("mptcp", "endpoint", "add", "10.1.0.1", "dev", "near2", "subflow")
    }

    /// The number of additional subflows in this network namespace.
    private static func joined() throws -> Int {
        // `String(contentsOfFile:)` reads one page of such a file.
        let statistics = try FileHandle(forReadingAtPath: "/proc/thread-self/net/netstat")?.readToEnd() ?? Data()
        let lines = String(decoding: statistics, as: UTF8.self).split(separator: "\n")
            .filter { $0.hasPrefix("MPTcpExt:") }.map { $0.split(separator: " ") }
        let names = try #require(lines.first), values = try #require(lines.last)
        let index = try #require(names.firstIndex(of: "MPJoinSynAckRx"))
        return try #require(Int(values[index]))
    }

    // C-29, MET-12: the kernel goes on by the other way, and so does the load
    @Test("a load continues on the second path when the first is cut", arguments: [false, true])
    func secondRoute(isSecure: Bool) async throws {
        let far = try RemoteNetwork()
        try addCable(to: far)
        let joined = try Self.joined()
        let isCut = Signal("the first way is cut")
        let tls =
            try isSecure
            ? TrustedAuthority.server(.server(CertificateProfile.Name(RemoteNetwork.address))) : nil
        var options = ScriptedServer.Options.everywhere
        options.isMultipath = true
        let server = try far.perform { [options] in
            try ScriptedServer(options, tls: tls) { connection in
                _ = try connection.readRequest()
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe")
                try isCut.wait()
                try connection.send("llo")
                _ = try connection.waitForClose()
            }
        }
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession(delegate) { $0.multipathServiceType = .handover }
        defer { session.invalidateAndCancel() }
        let (bytes, _) = try await session.bytes(from: server.url("/", host: RemoteNetwork.address))
        var iterator = bytes.makeAsyncIterator()
        var body = [try #require(try await iterator.next())]
        try await eventually { (try? Self.joined()) == joined + 1 }
        try NetworkNamespace.ip("address", "del", "10.0.0.1/24", "dev", "near")
        try NetworkNamespace.ip("link", "set", "near", "down")
        isCut.fire()
        while let byte = try await iterator.next() { body.append(byte) }
        #expect(String(decoding: body, as: UTF8.self) == "hello")
        let transactions = try await delegate.metrics.waitFor(count: 1).flatMap(\.transactionMetrics)
        #expect(transactions.map(\.isMultipath) == [true])
        #expect(server.connectionCount == 1)
    }

    // C-29, MET-13: with a server without MPTCP there is one subflow, which can be lost
    @Test("a load by its only route fails when that is cut") func onlyRoute() async throws {
        let far = try RemoteNetwork()
        try addCable(to: far)
        let server = try far.perform {
            try ScriptedServer(.everywhere) { connection in
                _ = try connection.readRequest()
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe")
                _ = try connection.waitForClose()
            }
        }
        defer { server.stop() }
        let delegate = RecordingDelegate()
        let session = URLSession(delegate) { $0.multipathServiceType = .handover }
        defer { session.invalidateAndCancel() }
        let (bytes, _) = try await session.bytes(from: server.url("/", host: RemoteNetwork.address))
        var iterator = bytes.makeAsyncIterator()
        _ = try await iterator.next()
        try NetworkNamespace.ip("address", "del", "10.0.0.1/24", "dev", "near")
        let error = await #expect(throws: URLError.self) { while try await iterator.next() != nil {} }
        #expect(error?.code == .networkConnectionLost)
        let transactions = try await delegate.metrics.waitFor(count: 1).flatMap(\.transactionMetrics)
        #expect(transactions.map(\.isMultipath) == [false])
    }
}
