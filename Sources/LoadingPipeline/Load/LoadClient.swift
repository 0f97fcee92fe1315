package import FoundationEssentials
package import LoadingConnections
package import LoadingSemantics

/// The client of a load: a task, or a `Transfer`. It makes the decisions of the caller, and receives the response.
/// Called on the load's loop; must not block.
package protocol LoadClient: AnyObject {
    /// The parts of a multipart body that the client takes. Read when such a body arrives.
    var wantedParts: WantedParts { get }
    func loadIsWaitingForConnectivity(_ load: any Load)
    /// Whether a load that may wait for a route also waits for one to its server alone, while others can be reached.
    /// With false it fails then, because the client tries again later. Read after such a failure.
    var waitsForRouteToServer: Bool { get }
    var wantsConnectionChallenges: Bool { get }
    /// The request was upgraded to this `https` URL, which is otherwise the same.
    func load(_ load: any Load, isUpgradedTo url: String)
    /// A connection that is being made for the load has a challenge. False for the default handling.
    func load(_ load: any Load, asks question: ConnectionChallenge) -> Bool
    /// A complete response may be stored. `.now` has the entry to store, or nil. After `.later`, the load waits for
    /// `lookup`.
    func load(
        _ load: HTTPLoad, willStore entry: CacheEntry, _ lookup: @autoclosure () -> PendingLookup<CacheEntry?>
    ) -> ClientAnswer<CacheEntry?>
    func load(_ load: any Load, didReceiveInformational head: ResponseHead)
    /// The final response. After `.later`, the load waits for `answerResponse`.
    func load(_ load: any Load, didReceive response: LoadResponse) -> ClientAnswer<Void>
    /// The final response of a load without HTTP.
    func load(_ load: any Load, didReceive response: SourceResponse) -> ClientAnswer<Void>
    /// A redirect leads to a URL of a scheme other than HTTP's. True if the client follows it, and calls
    /// `load.answerRedirect(nil)` or abandons the load; with false the load fails.
    func load(_ load: any Load, leavesHTTPBy redirected: RedirectedRequest, response: LoadResponse) -> Bool
    /// A redirect. `.now` follows it with `proposed`; after `.later`, the load waits for `answerRedirect`.
    func load(_ load: any Load, willRedirectTo proposed: LoadRequest, response: LoadResponse) -> ClientAnswer<Void>
    /// A server moves an upload to another origin, with requests like `proposed`. True if
    /// `load.answerUploadMove` follows; with false it does not resume there.
    func load(_ load: any Load, asksToMoveUploadTo proposed: LoadRequest, response: LoadResponse) -> Bool
    /// A server or a proxy has sent a challenge. The load waits for `answerChallenge`.
    func load(_ load: any Load, isAsked question: AuthenticationQuestion, by response: LoadResponse?)
    /// The challenge needs no answer any more.
    func loadAsksNoMore(_ load: any Load)
    /// The request is sent again after a challenge, which for HTTP is the response passed here. Or the response has
    /// confirmed the stored one, which follows.
    func load(_ load: any Load, transactionEnded response: LoadResponse?)
    /// A piece of the body, in order. False when the client accepts no more for now; `load.resumeReading()` continues.
    func load(_ load: any Load, didReceive data: Data) -> Bool
    /// The number of bytes so far of a body that is delivered at the end.
    func load(_ load: any Load, hasCollected total: Int64)
    /// The number of bytes that were just written to the file.
    func load(_ load: any Load, hasWritten count: Int64)
    /// A stream is needed for the body from this offset on. Answered by `load.provideBody`.
    func load(_ load: any Load, needsBodyFrom offset: Int64)
    /// The length of a body that was not known when the load began.
    func load(_ load: any Load, willSendBodyOf length: Int64)
    func load(_ load: any Load, didSendBody bytes: Int64, total: Int64)
    /// The end, exactly once, after everything else. After an error `body` is nothing, or the file with the part of the
    /// body that has arrived.
    func load(_ load: any Load, didEndWith error: LoadError?, body: LoadedBody)
}

extension LoadClient {
    package var waitsForRouteToServer: Bool { true }
}

/// What the client receives of a multipart body, in which each part replaces the one before (MISC-23).
package enum WantedParts {
    /// The body, without splitting.
    case none
    /// Each part, with its own response.
    case every
    /// The last part, with its response.
    case last
}
