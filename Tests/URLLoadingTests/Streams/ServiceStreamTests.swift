import Foundation
import LoadingTransport
import TestSupport
import Testing
import URLLoading

/// Stream tasks to services, with a scripted bus, so without Avahi.
@Suite(.needs("libdbus-1.so.3", of: "libdbus-1-3", dlopen("libdbus-1.so.3", RTLD_NOW) != nil), .leavesNothing)
struct ServiceStreamTests {
    /// A bus on which a service is found whose host and address are these.
    private static func bus(host: String, address: String, port: Int) throws -> ScriptedBus {
        let found = NetServiceTests.found(address, host: host, port: UInt16(port))
        return try NetServiceTests.resolvingBus([.signal(path: "/r", member: "Found", found)])
    }

    /// What a stream task to the service reads, up to its end.
    private static func read(_ bus: ScriptedBus, in session: URLSession) async throws -> String {
        let task = session.streamTask(with: NetServiceTests.service(on: bus))
        task.resume()
        let (data, _) = try await task.readData(ofMinLength: 100, maxLength: 100, timeout: 10)
        task.closeWrite()
        return data.map { String(decoding: $0, as: UTF8.self) } ?? ""
    }

    // STREAM-10: any host in the local network may publish services, and other requests of the session use the same
    // names
    @Test("the address that comes with a service counts for names of .local only") func address() async throws {
        let server = try ScriptedServer { try $0.send("hello\n") }
        defer { server.stop() }
        try await URLSession.withSuspendedQueue { session in
            let local = try Self.bus(host: "host.local", address: "127.0.0.1", port: server.port)
            defer { local.stop() }
            #expect(try await Self.read(local, in: session) == "hello\n")
            // Nothing listens at the address that this one claims.
            let claimed = try Self.bus(host: "localhost", address: "127.0.0.2", port: server.port)
            defer { claimed.stop() }
            #expect(try await Self.read(claimed, in: session) == "hello\n")
        }
    }

    // T-2, STREAM-10
    @Test("a suspended task does not look for its service, and has no timeout") func suspended() async throws {
        let server = try ScriptedServer { try $0.send("hello\n") }
        defer { server.stop() }
        let port = UInt16(server.port)
        let isThere = Watched(false)
        let bus = try ScriptedBus { call in
            guard call.member == "ServiceResolverNew" else { return nil }
            let found = ScriptedBus.Step.signal(
                path: "/r", member: "Found", NetServiceTests.found("127.0.0.1", port: port))
            return [.reply([.path("/r")])] + (isThere.current ? [found] : [])
        }
        defer { bus.stop() }
        let session = URLSession { $0.timeoutIntervalForRequest = 5 }
        defer { session.invalidateAndCancel() }
        let task = session.streamTask(with: NetServiceTests.service(on: bus))
        task.resume()
        try bus.waitForCall(of: "ServiceResolverNew", count: 2)
        task.suspend()
        try bus.waitForEnd()
        isThere.withValue { $0 = true }
        task.resume()
        let (data, _) = try await task.readData(ofMinLength: 100, maxLength: 100, timeout: 10)
        #expect(data == Data("hello\n".utf8))
        task.closeWrite()
    }
}
