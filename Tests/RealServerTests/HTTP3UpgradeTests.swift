import Foundation
import TestSupport
import Testing
import URLLoading

/// Upgrades from an existing connection of another version to HTTP/3.
@Suite("HTTP/3 where there is a connection already", .needsHTTP3, .needs(.gtlsserver), .timeLimit(.minutes(1)))
struct HTTP3UpgradeTests {
    static let versions = ["http/1.1", "h2"]

    private func server(_ authority: TestCertificateAuthority? = nil) throws -> GtlsServer {
        try GtlsServer(
            files: ["small": Array("small".utf8)], authority: try authority ?? TrustedAuthority.authority)
    }

    private func text(_ session: URLSession, _ url: URL) async throws -> String {
        String(decoding: try await session.data(from: url).0, as: UTF8.self)
    }

    /// Twenty at once.
    private func crowd(_ session: URLSession, _ url: URL) async throws -> Set<String> {
        try await withThrowingTaskGroup(of: String.self) { group async throws in
            for _ in 0..<20 { group.addTask { try await text(session, url) } }
            return try await group.reduce(into: []) { $0.insert($1) }
        }
    }

    // CONN-6, CONN-8: other loads meanwhile use the existing connections
    @Test("a connection is replaced by HTTP/3", arguments: versions) func upgrade(version: String) async throws {
        let quic = try server()
        defer { quic.stop() }
        let tcp = try ScriptedServer.naming(quic.port, over: version)
        defer { tcp.stop() }
        try await TransactionRecorder.record { session, metrics async throws in
            let url = tcp.url("/small")
            #expect(try await text(session, url) == "0")
            let answers = try await crowd(session, url)
            #expect(answers.contains("small") && answers.subtracting(["small"]).allSatisfy { $0.count == 1 })
            #expect(try await text(session, url) == "small")
            let versions = try await metrics.transactions.waitFor(count: 22).map(\.networkProtocolName)
            #expect(versions.first == version && versions.last == "h3")
        }
        if version == "h2" { #expect(tcp.connectionCount == 1) }
    }

    // CONN-6: one request after the other, over a connection that is kept
    @Test("a kept HTTP/1.1 connection is replaced by HTTP/3", arguments: [false, true])
    func polling(isAssumed: Bool) async throws {
        let quic = try server()
        defer { quic.stop() }
        // The assumed HTTP/3 service is on the origin's port, without a server.
        let tcp = try ScriptedServer.naming(quic.port, over: "http/1.1")
        defer { tcp.stop() }
        try await TransactionRecorder.record { session, metrics async throws in
            for _ in 0..<4 {
                var request = URLRequest(url: tcp.url("/small"))
                request.assumesHTTP3Capable = isAssumed
                _ = try await session.data(for: request)
            }
            let all = try await metrics.transactions.waitFor(count: 4)
            #expect(all.map(\.networkProtocolName) == ["http/1.1", "h3", "h3", "h3"])
            #expect(all.map(\.isReusedConnection) == [false, false, true, true])
        }
        #expect(tcp.connectionCount == 1)
    }

    // CONN-6, CONN-8: also for loads during the attempt
    @Test("a connection stays if QUIC gets no answer", arguments: versions, [false, true])
    func failedUpgrade(version: String, isSilent: Bool) async throws {
        // No server, or a silent one.
        let silence = try SilentDatagramPort()
        if !isSilent { silence.close() }
        defer { silence.close() }
        let tcp = try ScriptedServer.naming(silence.port, over: version)
        defer { tcp.stop() }
        try await TransactionRecorder.record { session, metrics async throws in
            let url = tcp.url("/small")
            #expect(try await text(session, url) == "0")
            // Alone, so that it has the connection to go back to.
            #expect(try await text(session, url) == "0")
            #expect(tcp.connectionCount == 1)
            #expect(try await crowd(session, url).allSatisfy { $0.count == 1 })
            let versions = Set(try await metrics.transactions.waitFor(count: 22).map(\.networkProtocolName))
            #expect(versions == [version])
        }
        if version == "h2" { #expect(tcp.connectionCount == 1) }
        if isSilent { #expect(silence.hasReceived) }
    }

    // CONN-8: it is broken when it has come to its own end, and not before
    @Test("a place that never answers is left alone after that", arguments: versions)
    func silentUpgrade(version: String) async throws {
        let silence = try SilentDatagramPort()
        defer { silence.close() }
        let tcp = try ScriptedServer.naming(silence.port, over: version)
        defer { tcp.stop() }
        try await TransactionRecorder.record { session, _ async throws in
            let url = tcp.url("/small")
            for _ in 0..<2 { #expect(try await text(session, url) == "0") }
            #expect(Loopback.hasConnection(to: silence.port))
            try await eventually(within: .seconds(40)) { !Loopback.hasConnection(to: silence.port) }
            #expect(silence.hasReceived)
            for _ in 0..<3 { #expect(try await text(session, url) == "0") }
            #expect(!silence.hasReceived)
        }
        #expect(tcp.connectionCount == 1)
    }

    // CONN-8: slow is not broken
    @Test("a place that is far is used when it has answered", arguments: versions)
    func slowUpgrade(version: String) async throws {
        let quic = try server()
        defer { quic.stop() }
        let relay = try DatagramRelay(to: quic.port)
        defer { relay.stop() }
        let tcp = try ScriptedServer.naming(relay.port, over: version)
        defer { tcp.stop() }
        try await TransactionRecorder.record { session, metrics async throws in
            let url = tcp.url("/small")
            var start = ContinuousClock.now
            for _ in 0..<2 { #expect(try await text(session, url) == "0") }
            #expect(ContinuousClock.now - start >= .milliseconds(300))
            #expect(relay.clientCount == 1)
            // No load waits for it now.
            start = ContinuousClock.now
            for _ in 0..<10 { #expect(try await text(session, url) == "0") }
            #expect(ContinuousClock.now - start < .seconds(3))
            relay.release()
            try await eventually { (try? await text(session, url)) == "small" }
            #expect(try await text(session, url) == "small")
            let last = try #require(metrics.transactions.events.last)
            #expect(last.networkProtocolName == "h3" && last.isReusedConnection)
        }
        #expect(relay.clientCount == 1)
        #expect(tcp.connectionCount == 1)
    }

    // CONN-8: where both begin, and TCP is faster
    @Test("a place that is slower than TCP is used when it has answered", arguments: versions, [false, true])
    func slowRace(version: String, isAsked: Bool) async throws {
        let quic = try server()
        defer { quic.stop() }
        let (tcp, relay) = try ScriptedServer.withDatagrams {
            try ScriptedServer.naming(nil, over: version)
        } on: {
            try DatagramRelay($0, to: quic.port)
        }
        defer {
            relay.stop()
            tcp.stop()
        }
        let delegate = LateTrust(false)
        let recorder = TransactionRecorder()
        let configuration = URLSessionConfiguration.ephemeral
        configuration.urlCache = nil
        let session = URLSession(
            configuration: configuration, delegate: isAsked ? delegate : recorder, delegateQueue: nil)
        defer { session.invalidateAndCancel() }
        var request = URLRequest(url: tcp.url("/small"))
        request.assumesHTTP3Capable = true
        let asking = request
        let text = { @Sendable () async throws -> String in
            String(decoding: try await session.data(for: asking).0, as: UTF8.self)
        }
        // No load waits for what is still under way.
        let start = ContinuousClock.now
        for _ in 0..<10 { #expect(try await text() == "0") }
        #expect(ContinuousClock.now - start < .seconds(3))
        #expect(relay.clientCount == 1)
        relay.release()
        try await eventually { (try? await text()) == "small" }
        #expect(try await text() == "small")
        // It is the one that was begun first.
        #expect(relay.clientCount == 1 && tcp.connectionCount == 1)
        if isAsked {
            // Once for each.
            #expect(delegate.hosts.events.count == 2)
        } else {
            let last = try #require(recorder.transactions.events.last)
            #expect(last.networkProtocolName == "h3" && last.isReusedConnection)
        }
    }

    // CONN-8: of the loads that find no connection, too, none tries it while it is tried, and none after that
    @Test("a place that never answers beside TCP is left alone after that") func silentRace() async throws {
        let silence = try SilentDatagramPort()
        defer { silence.close() }
        let (tcp, relay) = try ScriptedServer.withDatagrams {
            try ScriptedServer.naming(nil, over: "http/1.1", keepsAlive: false)
        } on: {
            try DatagramRelay($0, to: silence.port)
        }
        defer {
            relay.stop()
            tcp.stop()
        }
        try await TransactionRecorder.record { session, _ async throws in
            var request = URLRequest(url: tcp.url("/small"))
            request.assumesHTTP3Capable = true
            for _ in 0..<4 { _ = try await session.data(for: request) }
            #expect(Loopback.datagramSocketCount(to: relay.port) == 1)
            try await eventually(within: .seconds(40)) { Loopback.datagramSocketCount(to: relay.port) == 0 }
            for _ in 0..<3 { _ = try await session.data(for: request) }
            #expect(tcp.connectionCount == 7 && relay.clientCount == 1)
        }
    }

    // CONN-6, AUTH-3: a rejection by one delegate does not affect others
    @Test("a delegate evaluates the trust of an upgraded connection", arguments: versions, [false, true])
    func askedLater(version: String, isTrusted: Bool) async throws {
        let quic = try server(TestCertificateAuthority())
        defer { quic.stop() }
        let relay = try DatagramRelay(to: quic.port)
        defer { relay.stop() }
        let tcp = try ScriptedServer.naming(relay.port, over: version)
        defer { tcp.stop() }
        let delegate = LateTrust(isTrusted)
        let configuration = URLSessionConfiguration.ephemeral
        configuration.urlCache = nil
        let session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
        defer { session.invalidateAndCancel() }
        let url = tcp.url("/small")
        for _ in 0..<2 { #expect(try await text(session, url) == "0") }
        #expect(delegate.hosts.events.count == 1)
        relay.release()
        try await eventually {
            _ = try? await text(session, url)
            return delegate.hosts.events.count == 2
        }
        for _ in 0..<3 { #expect(try await text(session, url) == (isTrusted ? "small" : "0")) }
        #expect(delegate.hosts.events.count == 2)
        #expect(relay.clientCount == 1 && tcp.connectionCount == 1)
    }

    // CONN-8, S-26: nothing is left of it
    @Test("an attempt ends with its session", arguments: versions) func invalidated(version: String) async throws {
        let silence = try SilentDatagramPort()
        defer { silence.close() }
        let tcp = try ScriptedServer.naming(silence.port, over: version)
        defer { tcp.stop() }
        try await TransactionRecorder.record { session, _ async throws in
            for _ in 0..<2 { #expect(try await text(session, tcp.url("/small")) == "0") }
            #expect(Loopback.hasConnection(to: silence.port))
        }
        let start = ContinuousClock.now
        try await eventually { !Loopback.hasConnection(to: silence.port) }
        #expect(ContinuousClock.now - start < .seconds(5))
    }

    // CONN-18: attempts from before a flush are not used after it
    @Test("a connection that is held does not outlive a flush") func flushed() async throws {
        let quic = try server()
        defer { quic.stop() }
        let relay = try DatagramRelay(to: quic.port)
        defer { relay.stop() }
        let tcp = try ScriptedServer.naming(relay.port, over: "http/1.1")
        defer { tcp.stop() }
        try await TransactionRecorder.record { session, metrics async throws in
            let url = tcp.url("/small")
            for _ in 0..<2 { #expect(try await text(session, url) == "0") }
            relay.release()
            await session.flush()
            try await eventually { !Loopback.hasConnection(to: relay.port) }
            #expect(try await text(session, url) == "small")
            let last = try #require(try await metrics.transactions.waitFor(count: 3).last)
            #expect(!last.isReusedConnection)
        }
        #expect(relay.clientCount == 2)
    }

    // CONN-18: what was begun before a flush takes nothing from what was begun after it
    @Test("a connection attempt from before a flush completes after one from after it") func overtaken()
        async throws
    {
        let quic = try server(TestCertificateAuthority())
        defer { quic.stop() }
        let tcp = try ScriptedServer.naming(quic.port, over: "h2")
        defer { tcp.stop() }
        let delegate = SlowTrust()
        let configuration = URLSessionConfiguration.ephemeral
        configuration.urlCache = nil
        let session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
        defer { session.invalidateAndCancel() }
        let url = tcp.url("/small")
        #expect(try await text(session, url) == "0")
        var slow = Task { () async throws -> String in "" }
        // One that waits in vain for a handshake on a busy machine leaves it to the next.
        while !delegate.isAsked {
            let outcome = EventRecorder<String>()
            slow = Task {
                let text = try await text(session, url)
                outcome.record(text)
                return text
            }
            try await eventually { delegate.isAsked || outcome.count == 1 }
        }
        await session.flush()
        #expect(try await text(session, url) == "1")
        delegate.answer()
        #expect(try await slow.value == "1")
        #expect(try await text(session, url) == "1")
        #expect(tcp.connectionCount == 2)
    }
}

/// Trusts the second server, when the test says so, and leaves the others to the session.
private final class SlowTrust: NSObject, URLSessionDelegate, Sendable {
    typealias Answer = @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void

    private struct State {
        var count = 0
        var answer: (Answer, URLCredential)?
    }

    private let state = Watched(State())

    var isAsked: Bool { state.current.answer != nil }

    func answer() {
        guard let (answer, credential) = state.current.answer else { return }
        answer(.useCredential, credential)
    }

    func urlSession(
        _ session: URLSession, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping Answer
    ) {
        let isSecond = state.withValue { state in
            state.count += 1
            return state.count == 2
        }
        guard isSecond, let trust = challenge.protectionSpace.serverTrust else {
            return completionHandler(.performDefaultHandling, nil)
        }
        state.withValue { $0.answer = (completionHandler, URLCredential(trust: trust)) }
    }
}

/// Leaves the first server to the session; of the others it trusts all, or leaves them to it too.
private final class LateTrust: NSObject, URLSessionDelegate, Sendable {
    let hosts = EventRecorder<String>()
    private let trusts: Bool

    init(_ trusts: Bool) { self.trusts = trusts }

    func urlSession(
        _ session: URLSession, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        let isFirst = hosts.events.isEmpty
        hosts.record(challenge.protectionSpace.host)
        guard trusts, !isFirst, let trust = challenge.protectionSpace.serverTrust else {
            return completionHandler(.performDefaultHandling, nil)
        }
        completionHandler(.useCredential, URLCredential(trust: trust))
    }
}
