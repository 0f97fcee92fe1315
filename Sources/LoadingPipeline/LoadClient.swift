package import FoundationEssentials
package import LoadingConnections
internal import LoadingProtocols
package import LoadingSemantics

/// For whom a load is done: a task, seen from the engine. Called on the load's loop; must not block.
package protocol LoadClient: AnyObject {
    /// What the client wants of a body that comes in parts. Asked when one comes.
    var wantedParts: WantedParts { get }
    func loadIsWaitingForConnectivity(_ load: any SchemeLoad)
    /// Whether the client may want to be asked about connections.
    var wantsConnectionChallenges: Bool { get }
    /// The request goes to this address instead, which is the same but for being secure.
    func load(_ load: any SchemeLoad, isUpgradedTo url: String)
    /// A connection that is being made for the load needs an answer. False to have the default apply.
    func load(_ load: any SchemeLoad, asks question: ConnectionChallenge) -> Bool
    /// A request is to go out: the value of its `Cookie` field, or nil without cookies. Answered `.later`, the load stands still until `load.provideCookies`.
    func load(_ load: any SchemeLoad, cookiesFor request: LoadRequest) -> ClientAnswer<String?>
    /// The response to a request sets cookies, by so many fields.
    func load(_ load: any SchemeLoad, didReceiveCookies fields: [String], for request: LoadRequest)
    /// What is stored for a request, or for the GET of its address; nil without a cache. Answered `.later`, the load stands still until
    /// `load.provideStored`.
    func load(_ load: any SchemeLoad, storedFor request: LoadRequest) -> ClientAnswer<CacheContents?>
    /// A response that may be kept has come to its end. Answered `.later`, the load ends with `load.finishKeeping`.
    func load(_ load: any SchemeLoad, proposes entry: CacheEntry) -> LoadAnswer
    /// A redirect that is followed is to be kept.
    func load(_ load: any SchemeLoad, keeps redirect: CacheEntry, of request: LoadRequest)
    /// What is stored for the request is still good, and is this now.
    func load(_ load: any SchemeLoad, hasRefreshed entry: CacheEntry)
    /// What is stored for these is no longer good.
    func load(_ load: any SchemeLoad, hasOutdated keys: [CacheKey])
    func load(_ load: any SchemeLoad, didReceiveInformational head: ResponseHead)
    /// The final response. `expectedLength` is that of the body as it will be delivered, -1 when unknown.
    func load(_ load: any SchemeLoad, didReceive response: LoadResponse) -> LoadAnswer
    /// The same of what does not come by HTTP.
    func load(_ load: any SchemeLoad, didReceive response: SourceResponse) -> LoadAnswer
    /// A redirect leads to a URL that is none of HTTP. True if the client sees to it, and answers by
    /// `load.answerRedirect(nil)` or abandons the load; else the load fails.
    func load(_ load: any SchemeLoad, leavesHTTPBy redirected: RedirectedRequest, response: LoadResponse) -> Bool
    /// A redirect that would be followed with `proposed`. Answered `.now` to follow it as it is; else by
    /// `load.answerRedirect`.
    func load(_ load: any SchemeLoad, willRedirectTo proposed: LoadRequest, response: LoadResponse) -> LoadAnswer
    /// A server wants an upload to go on at another origin, with requests as `proposed` is. Answered by
    /// `load.answerUploadMove`; false if nobody is there to be asked, and then it does not.
    func load(_ load: any SchemeLoad, asksToMoveUploadTo proposed: LoadRequest, response: LoadResponse) -> Bool
    /// A server wants to know who the user is. Answered by `load.answerChallenge`; until then the load stands still.
    func load(_ load: any SchemeLoad, isAsked question: AuthenticationQuestion, by response: LoadResponse?)
    /// Nobody needs an answer to that any more.
    func loadAsksNoMore(_ load: any SchemeLoad)
    /// The request goes out again after the server has asked who the user is, by a response if it speaks HTTP; or is
    /// answered by what is stored, which the response has confirmed.
    func load(_ load: any SchemeLoad, willSendAgainAfter response: LoadResponse?)
    /// A server has taken a credential that the client gave, and that may be kept.
    func load(_ load: any SchemeLoad, hasUsed credential: LoadCredential, for space: ProtectionSpace)
    /// Whether a credential that a server has taken may be sent there again.
    func load(_ load: any SchemeLoad, stillHas credential: LoadCredential, for space: ProtectionSpace) -> Bool
    /// A piece of the body, in order. False when the client has enough for now; `load.resumeReading()` goes on.
    func load(_ load: any SchemeLoad, didReceive data: Data) -> Bool
    /// So many bytes of a body that is given whole, at the end, are here.
    func load(_ load: any SchemeLoad, hasCollected total: Int64)
    /// So many more bytes of the body are in the file.
    func load(_ load: any SchemeLoad, hasWritten count: Int64)
    /// The body is a stream, and one is needed that begins so many bytes into it. Answered by `load.provideBody`.
    func load(_ load: any SchemeLoad, needsBodyFrom offset: Int64)
    /// The body, which nobody has announced, has so many bytes.
    func load(_ load: any SchemeLoad, willSendBodyOf length: Int64)
    func load(_ load: any SchemeLoad, didSendBody bytes: Int64, total: Int64)
    /// The end, exactly once, after everything else. After an error `body` is nothing, or the file with as much of the
    /// body as had come.
    func load(_ load: any SchemeLoad, didEndWith error: LoadError?, body: LoadedBody)
}
