import LoadingTestSupport
import LoadingTransport
import TestSupport
import Testing

@testable import URLLoading

/// The lookup of a service for a stream task.
@Suite struct ServiceEndpointTests {
    // T-2, STREAM-10: a task may be suspended, and resumed, between the outcome and the turn in which it is delivered
    @Test("an outcome that is not delivered when the lookup is cancelled is never delivered") func cancelled()
        async throws
    {
        let stepped = try SteppedLoop()
        let loop = stepped.loop
        let address = try #require(SocketAddress(literal: "127.0.0.1", port: 80))
        let service = ServiceName(instance: "one", type: "_http._tcp", domain: "local")
        // The outcome is known at once.
        let found = ResolvedService(host: "host.local", port: 80, addresses: [address], text: [])
        let endpoint = ServiceEndpoint(ServiceLookup(service, known: found))
        let outcomes = EventRecorder<String>()
        let isResolving = try await stepped.run { () -> [Bool] in
            var isResolving = [endpoint.isResolving]
            endpoint.resolve(within: 1, on: loop) { _ in outcomes.record("first") }
            isResolving.append(endpoint.isResolving)
            endpoint.cancel()
            isResolving.append(endpoint.isResolving)
            endpoint.resolve(within: 1, on: loop) { _ in outcomes.record("second") }
            return isResolving
        }
        try await stepped.settle()
        #expect(isResolving == [false, true, false])
        #expect(outcomes.events == ["second"])
    }
}
