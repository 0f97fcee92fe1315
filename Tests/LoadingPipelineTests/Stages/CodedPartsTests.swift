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
    // T-65, MISC-23: memory that was handed out is nobody's to read any more
    @Test("parts that are unfolded together, of which the first is let go of at once") func parts() async throws {
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

/// Lets go of the content of a part when the next begins, and has other content come into the memory that was. Confined to
/// its loop but for what it has recorded.
private final class PartClient: LoadClient, @unchecked Sendable {
    // Sendable because what is mutable is touched on the loop only.

    let bodies = EventRecorder<String>()
    let ended = EventRecorder<LoadError?>()
    private let loop = EventLoops.assign()
    private var load: Load?
    private var content: Data?
    private var text: [UInt8] = []

    init(_ url: URL) throws {
        let address = try HTTPURL(url.absoluteString)
        loop.post { [self] in
            let pool = ConnectionPool(loop: loop, security: ConnectionSecurity(TLSConfiguration()), maximumPerHost: 1)
            let environment = LoadingEnvironment(
                loop: loop, pool: pool,
                transportSecurity: TransportSecurityStage(hosts: HSTSStore(suffixes: .topLevelDomains), rules: nil),
                proxies: nil, clearDefaults: HTTPFields(), secureDefaults: HTTPFields())
            let request = LoadRequest(
                url: address, urlText: url.absoluteString, method: "GET", fields: HTTPFields(), body: .none,
                idleTimeout: 60, totalTimeout: .infinity, waitsForConnectivity: false,
                priority: 0.5)
            load = Load(request, in: environment, destination: .pieces, log: nil, client: self)
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

    func load(_ load: any SchemeLoad, didReceive response: LoadResponse) -> LoadAnswer {
        endPart()
        return .now
    }

    func load(_ load: any SchemeLoad, didReceive data: Data) -> Bool {
        content = data
        text += data
        return true
    }

    func load(_ load: any SchemeLoad, didEndWith error: LoadError?, body: LoadedBody) {
        endPart()
        self.load = nil
        ended.record(error)
    }

    // What nobody asks here.
    var wantsConnectionChallenges: Bool { false }
    func loadIsWaitingForConnectivity(_ load: any SchemeLoad) {}
    func load(_ load: any SchemeLoad, isUpgradedTo url: String) {}
    func load(_ load: any SchemeLoad, asks question: ConnectionChallenge) -> Bool { false }
    func load(_ load: any SchemeLoad, cookiesFor request: LoadRequest) -> ClientAnswer<String?> { .now(nil) }
    func load(_ load: any SchemeLoad, didReceiveCookies fields: [String], for request: LoadRequest) {}
    func load(_ load: any SchemeLoad, storedFor request: LoadRequest) -> ClientAnswer<CacheContents?> { .now(nil) }
    func load(_ load: any SchemeLoad, proposes entry: CacheEntry) -> LoadAnswer { .now }
    func load(_ load: any SchemeLoad, keeps redirect: CacheEntry, of request: LoadRequest) {}
    func load(_ load: any SchemeLoad, hasRefreshed entry: CacheEntry) {}
    func load(_ load: any SchemeLoad, hasOutdated keys: [CacheKey]) {}
    func load(_ load: any SchemeLoad, didReceiveInformational head: ResponseHead) {}
    func load(_ load: any SchemeLoad, didReceive response: SourceResponse) -> LoadAnswer { .now }
    func load(_ load: any SchemeLoad, leavesHTTPBy redirected: RedirectedRequest, response: LoadResponse) -> Bool {
        false
    }
    func load(_ load: any SchemeLoad, willRedirectTo proposed: LoadRequest, response: LoadResponse) -> LoadAnswer {
        .now
    }
    func load(_ load: any SchemeLoad, asksToMoveUploadTo proposed: LoadRequest, response: LoadResponse) -> Bool {
        false
    }
    func load(_ load: any SchemeLoad, isAsked question: AuthenticationQuestion, by response: LoadResponse?) {}
    func loadAsksNoMore(_ load: any SchemeLoad) {}
    func load(_ load: any SchemeLoad, willSendAgainAfter response: LoadResponse?) {}
    func load(_ load: any SchemeLoad, hasUsed credential: LoadCredential, for space: ProtectionSpace) {}
    func load(_ load: any SchemeLoad, stillHas credential: LoadCredential, for space: ProtectionSpace) -> Bool { false }
    func load(_ load: any SchemeLoad, hasCollected total: Int64) {}
    func load(_ load: any SchemeLoad, hasWritten count: Int64) {}
    func load(_ load: any SchemeLoad, needsBodyFrom offset: Int64) {}
    func load(_ load: any SchemeLoad, willSendBodyOf length: Int64) {}
    func load(_ load: any SchemeLoad, didSendBody bytes: Int64, total: Int64) {}
}
