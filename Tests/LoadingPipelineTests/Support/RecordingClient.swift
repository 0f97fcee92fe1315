import Foundation
import LoadingConnections
import LoadingProtocols
import LoadingSemantics
import LoadingTransport
import TestSupport

@testable import LoadingPipeline

/// Notes what a load reports to its client, and gives the answers that a test has prepared. Confined to the load's
/// loop.
final class RecordingClient: LoadClient, @unchecked Sendable {
    // Sendable because what is mutable is touched on the loop only.

    private(set) var events: [String] = []
    private(set) var requests: [LoadRequest] = []

    /// What it does when a stream is needed from an offset on.
    var onBodyNeeded: ((Int64) -> Void)?
    var onChallenge: ((AuthenticationQuestion) -> Void)?
    /// Whether it thinks about responses and redirects.
    var answersLater = false

    func note(_ event: String) { events.append(event) }

    func load(_ load: any Load, didReceive response: LoadResponse) -> ClientAnswer<Void> {
        note("response \(response.head.status)")
        return answersLater ? .later : .now
    }

    func load(_ load: any Load, willRedirectTo proposed: LoadRequest, response: LoadResponse) -> ClientAnswer<Void> {
        note("redirect \(response.head.status) to \(proposed.urlText)")
        return answersLater ? .later : .now
    }

    func load(_ load: any Load, isAsked question: AuthenticationQuestion, by response: LoadResponse?) {
        note("asked by \(response?.head.status ?? 0)")
        onChallenge?(question)
    }

    func load(_ load: any Load, needsBodyFrom offset: Int64) {
        note("body from \(offset)")
        onBodyNeeded?(offset)
    }

    func load(_ load: any Load, didReceive data: Data) -> Bool {
        note("data \(String(decoding: data, as: UTF8.self))")
        return true
    }

    func load(_ load: any Load, didReceiveInformational head: ResponseHead) { note("\(head.status)") }

    func load(_ load: any Load, didSendBody bytes: Int64, total: Int64) { note("sent \(total)") }

    func load(_ load: any Load, didEndWith error: LoadError?, body: LoadedBody) {
        note(error.map { "failed \($0.code)" } ?? "done")
    }

    // What is the same for every test.
    var wantedParts: WantedParts { .none }
    var wantsConnectionChallenges: Bool { false }
    func loadIsWaitingForConnectivity(_ load: any Load) { note("waits for a route") }
    func load(_ load: any Load, isUpgradedTo url: String) {}
    func load(_ load: any Load, asks question: ConnectionChallenge) -> Bool { false }
    func load(_ load: any Load, didReceive response: SourceResponse) -> ClientAnswer<Void> { .now }
    func load(_ load: any Load, leavesHTTPBy redirected: RedirectedRequest, response: LoadResponse) -> Bool {
        false
    }
    func load(_ load: any Load, asksToMoveUploadTo proposed: LoadRequest, response: LoadResponse) -> Bool {
        false
    }
    func load(
        _ load: HTTPLoad, willStore entry: CacheEntry, _ lookup: @autoclosure () -> PendingLookup<CacheEntry?>
    ) -> ClientAnswer<CacheEntry?> { .now(entry) }
    func loadAsksNoMore(_ load: any Load) {}
    func load(_ load: any Load, transactionEnded response: LoadResponse?) {}
    func load(_ load: any Load, hasCollected total: Int64) {}
    func load(_ load: any Load, hasWritten count: Int64) {}
    func load(_ load: any Load, willSendBodyOf length: Int64) {}
}
