import Foundation
import LoadingConnections
import LoadingProtocols
import LoadingSemantics
import LoadingTransport
import TestSupport

@testable import LoadingPipeline

/// Notes what a load tells its client, and gives the answers that a test has prepared. Confined to the load's loop.
final class RecordingClient: LoadClient, @unchecked Sendable {
    // Sendable because what is mutable is touched on the loop only.

    private(set) var told: [String] = []
    private(set) var requests: [LoadRequest] = []

    /// What it does when a stream is needed from an offset on.
    var onBodyNeeded: ((Int64) -> Void)?
    var onChallenge: ((AuthenticationQuestion) -> Void)?
    /// Whether it thinks about responses and redirects.
    var answersLater = false

    private func note(_ event: String) { told.append(event) }

    func load(_ load: any SchemeLoad, didReceive response: LoadResponse) -> LoadAnswer {
        note("response \(response.head.status)")
        return answersLater ? .later : .now
    }

    func load(_ load: any SchemeLoad, willRedirectTo proposed: LoadRequest, response: LoadResponse) -> LoadAnswer {
        note("redirect \(response.head.status) to \(proposed.urlText)")
        return answersLater ? .later : .now
    }

    func load(_ load: any SchemeLoad, isAsked question: AuthenticationQuestion, by response: LoadResponse?) {
        note("asked by \(response?.head.status ?? 0)")
        onChallenge?(question)
    }

    func load(_ load: any SchemeLoad, needsBodyFrom offset: Int64) {
        note("body from \(offset)")
        onBodyNeeded?(offset)
    }

    func load(_ load: any SchemeLoad, didReceive data: Data) -> Bool {
        note("data \(String(decoding: data, as: UTF8.self))")
        return true
    }

    func load(_ load: any SchemeLoad, didReceiveInformational head: ResponseHead) { note("\(head.status)") }

    func load(_ load: any SchemeLoad, didSendBody bytes: Int64, total: Int64) { note("sent \(total)") }

    func load(_ load: any SchemeLoad, didEndWith error: LoadError?, body: LoadedBody) {
        note(error.map { "failed \($0.code)" } ?? "done")
    }

    // What is the same for every test.
    var wantedParts: WantedParts { .none }
    var wantsConnectionChallenges: Bool { false }
    func loadIsWaitingForConnectivity(_ load: any SchemeLoad) { note("waits for a route") }
    func load(_ load: any SchemeLoad, isUpgradedTo url: String) {}
    func load(_ load: any SchemeLoad, asks question: SecurityQuestion) -> Bool { false }
    func load(_ load: any SchemeLoad, cookiesFor request: LoadRequest) -> ClientAnswer<String?> { .now(nil) }
    func load(_ load: any SchemeLoad, didReceiveCookies fields: [String], for request: LoadRequest) {}
    func load(_ load: any SchemeLoad, storedFor request: LoadRequest) -> ClientAnswer<CacheContents?> { .now(nil) }
    func load(_ load: any SchemeLoad, proposes entry: CacheEntry) -> LoadAnswer { .now }
    func load(_ load: any SchemeLoad, keeps redirect: CacheEntry, of request: LoadRequest) {}
    func load(_ load: any SchemeLoad, hasRefreshed entry: CacheEntry) {}
    func load(_ load: any SchemeLoad, hasOutdated keys: [CacheKey]) {}
    func load(_ load: any SchemeLoad, didReceive response: SourceResponse) -> LoadAnswer { .now }
    func load(_ load: any SchemeLoad, leavesHTTPBy redirected: RedirectedRequest, response: LoadResponse) -> Bool {
        false
    }
    func load(_ load: any SchemeLoad, asksToMoveUploadTo proposed: LoadRequest, response: LoadResponse) -> Bool {
        false
    }
    func loadAsksNoMore(_ load: any SchemeLoad) {}
    func load(_ load: any SchemeLoad, willSendAgainAfter response: LoadResponse?) {}
    func load(_ load: any SchemeLoad, hasUsed credential: LoadCredential, for space: ProtectionSpace) {}
    func load(_ load: any SchemeLoad, stillHas credential: LoadCredential, for space: ProtectionSpace) -> Bool { false }
    func load(_ load: any SchemeLoad, hasCollected total: Int64) {}
    func load(_ load: any SchemeLoad, hasWritten count: Int64) {}
    func load(_ load: any SchemeLoad, willSendBodyOf length: Int64) {}
}
