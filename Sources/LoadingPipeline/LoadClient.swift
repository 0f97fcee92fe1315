package import FoundationEssentials
package import LoadingConnections
internal import LoadingProtocols
package import LoadingSemantics

/// For whom a load is done: a task, seen from the engine. Called on the load's loop; must not block.
package protocol LoadClient: AnyObject {
    /// What the client wants of a body that comes in parts. Asked when one comes.
    var wantedParts: WantedParts { get }
    func loadIsWaitingForConnectivity(_ load: any Load)
    /// Whether the client may want to be asked about connections.
    var wantsConnectionChallenges: Bool { get }
    /// The request goes to this address instead, which is the same but for being secure.
    func load(_ load: any Load, isUpgradedTo url: String)
    /// A connection that is being made for the load needs an answer. False to have the default apply.
    func load(_ load: any Load, asks question: ConnectionChallenge) -> Bool
    /// A complete response may be stored. Answered `.now` with the entry to store, or nil; else by `lookup`, and the load waits.
    func load(
        _ load: HTTPLoad, willStore entry: CacheEntry, _ lookup: @autoclosure () -> PendingLookup<CacheEntry?>
    ) -> ClientAnswer<CacheEntry?>
    func load(_ load: any Load, didReceiveInformational head: ResponseHead)
    /// The final response. `expectedLength` is that of the body as it will be delivered, -1 when unknown.
    func load(_ load: any Load, didReceive response: LoadResponse) -> ClientAnswer<Void>
    /// The same of what does not come by HTTP.
    func load(_ load: any Load, didReceive response: SourceResponse) -> ClientAnswer<Void>
    /// A redirect leads to a URL that is none of HTTP. True if the client sees to it, and answers by
    /// `load.answerRedirect(nil)` or abandons the load; else the load fails.
    func load(_ load: any Load, leavesHTTPBy redirected: RedirectedRequest, response: LoadResponse) -> Bool
    /// A redirect that would be followed with `proposed`. Answered `.now` to follow it as it is; else by
    /// `load.answerRedirect`.
    func load(_ load: any Load, willRedirectTo proposed: LoadRequest, response: LoadResponse) -> ClientAnswer<Void>
    /// A server wants an upload to go on at another origin, with requests as `proposed` is. Answered by
    /// `load.answerUploadMove`; false if nobody is there to be asked, and then it does not.
    func load(_ load: any Load, asksToMoveUploadTo proposed: LoadRequest, response: LoadResponse) -> Bool
    /// A server wants to know who the user is. Answered by `load.answerChallenge`; until then the load stands still.
    func load(_ load: any Load, isAsked question: AuthenticationQuestion, by response: LoadResponse?)
    /// Nobody needs an answer to that any more.
    func loadAsksNoMore(_ load: any Load)
    /// The request goes out again after the server has asked who the user is, by a response if it speaks HTTP; or is
    /// answered by what is stored, which the response has confirmed.
    func load(_ load: any Load, transactionEnded response: LoadResponse?)
    /// A piece of the body, in order. False when the client has enough for now; `load.resumeReading()` goes on.
    func load(_ load: any Load, didReceive data: Data) -> Bool
    /// So many bytes of a body that is given whole, at the end, are here.
    func load(_ load: any Load, hasCollected total: Int64)
    /// So many more bytes of the body are in the file.
    func load(_ load: any Load, hasWritten count: Int64)
    /// The body is a stream, and one is needed that begins so many bytes into it. Answered by `load.provideBody`.
    func load(_ load: any Load, needsBodyFrom offset: Int64)
    /// The body, which nobody has announced, has so many bytes.
    func load(_ load: any Load, willSendBodyOf length: Int64)
    func load(_ load: any Load, didSendBody bytes: Int64, total: Int64)
    /// The end, exactly once, after everything else. After an error `body` is nothing, or the file with as much of the
    /// body as had come.
    func load(_ load: any Load, didEndWith error: LoadError?, body: LoadedBody)
}
