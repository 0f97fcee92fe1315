import Foundation
import LoadingConnections
import LoadingEvents
import LoadingProtocols
import LoadingSemantics
import LoadingTransport
import TestSupport
import Testing

@testable import LoadingPipeline

/// Parts of a coded body, and the memory in which they are handed out.
@Suite struct CodedPartsTests {
    // T-65, MISC-23: memory that was handed out must not be read any more
    @Test("parts that are unfolded together, of which the first is released at once") func parts() async throws {
        let texts = (0..<3).map { String(repeating: "\($0)", count: 20_000) }
        let body = texts.map { "--cut\r\n\r\n\($0)\r\n" }.joined() + "--cut--\r\n"
        let server = try ScriptedServer.answering(
            .bytes(CodedBodies.gzip(body)).with(field: "Content-Type", "multipart/x-mixed-replace; boundary=cut")
                .with(field: "Content-Encoding", "gzip"))
        defer { server.stop() }
        let client = try PartClient(server.url())
        #expect(try await client.ended.waitFor(count: 1) == [nil])
        #expect(client.bodies.events == texts)
    }
}

/// Lets go of the content of a part when the next begins, and has other content come into the memory that was. Confined
/// to its loop but for what it has recorded.
private final class PartClient: LoadClient, @unchecked Sendable {
    // Sendable because what is mutable is touched on the loop only.

    let bodies = EventRecorder<String>()
    let ended = EventRecorder<LoadError?>()
    private let loop = EventLoops.assign()
    private var load: HTTPLoad?
    private var content: Data?
    private var text: [UInt8] = []

    init(_ url: URL) throws {
        let address = try HTTPURL(url.absoluteString)
        loop.post { [self] in
            let pool = ConnectionPool(
                loop: loop, security: ConnectionSecurity(TLSConfiguration(), clock: loop.clock), maximumPerHost: 1)
            let environment = LoadingEnvironment(
                loop: loop, pool: pool,
                transportSecurity: TransportSecurityStage(hosts: HSTSStore(suffixes: .topLevelDomains), rules: nil),
                proxies: nil, clearDefaults: HTTPFields(), secureDefaults: HTTPFields())
            let request = LoadRequest(
                url: address, urlText: url.absoluteString, method: "GET", fields: HTTPFields(), body: .none,
                idleTimeout: 60, totalTimeout: .infinity, waitsForConnectivity: false,
                priority: 0.5)
            load = HTTPLoad(request, in: environment, destination: .pieces, log: nil, client: self)
            load?.start(.first)
        }
    }

    private func endPart() {
        guard content != nil else { return }
        content = nil
        bodies.record(String(decoding: text, as: UTF8.self))
        text = []
        guard let buffer = ReadBuffers.take() else { return }
        memset(buffer, 0x21, ReadBuffers.size)
        ReadBuffers.release(buffer)
    }

    var wantedParts: WantedParts { .every }

    func load(_ load: any Load, didReceive response: LoadResponse) -> ClientAnswer<Void> {
        endPart()
        return .now
    }

    func load(_ load: any Load, didReceive data: Data) -> Bool {
        content = data
        text += data
        return true
    }

    func load(_ load: any Load, didEndWith error: LoadError?, body: LoadedBody) {
        endPart()
        self.load = nil
        ended.record(error)
    }

    // Not called here.
    var wantsConnectionChallenges: Bool { false }
    func loadIsWaitingForConnectivity(_ load: any Load) {}
    func load(_ load: any Load, isUpgradedTo url: String) {}
    func load(_ load: any Load, asks question: ConnectionChallenge) -> Bool { false }
    func load(
        _ load: HTTPLoad, willStore entry: CacheEntry, _ lookup: @autoclosure () -> PendingLookup<CacheEntry?>
    ) -> ClientAnswer<CacheEntry?> { .now(entry) }
    func load(_ load: any Load, didReceiveInformational head: ResponseHead) {}
    func load(_ load: any Load, didReceive response: SourceResponse) -> ClientAnswer<Void> { .now }
    func load(_ load: any Load, leavesHTTPBy redirected: RedirectedRequest, response: LoadResponse) -> Bool {
        false
    }
    func load(_ load: any Load, willRedirectTo proposed: LoadRequest, response: LoadResponse) -> ClientAnswer<Void> {
        .now
    }
    func load(_ load: any Load, asksToMoveUploadTo proposed: LoadRequest, response: LoadResponse) -> Bool {
        false
    }
    func load(_ load: any Load, isAsked question: AuthenticationQuestion, by response: LoadResponse?) {}
    func loadAsksNoMore(_ load: any Load) {}
    func load(_ load: any Load, transactionEnded response: LoadResponse?) {}
    func load(_ load: any Load, hasCollected total: Int64) {}
    func load(_ load: any Load, hasWritten count: Int64) {}
    func load(_ load: any Load, needsBodyFrom offset: Int64) {}
    func load(_ load: any Load, willSendBodyOf length: Int64) {}
    func load(_ load: any Load, didSendBody bytes: Int64, total: Int64) {}
}
