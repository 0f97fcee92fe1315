package import FoundationEssentials
package import LoadingConnections
package import LoadingEvents
package import LoadingProtocols
package import LoadingSemantics
package import LoadingTransport

/// For whom a load is done: a task, seen from the engine. Called on the load's loop; must not block.
package protocol LoadClient: AnyObject {
    /// What the client wants of a body that comes in parts. Asked when one comes.
    var wantedParts: WantedParts { get }
    func loadIsWaitingForConnectivity(_ load: any SchemeLoad)
    /// A connection that is being made for the load needs an answer. False to have the default apply.
    func load(_ load: any SchemeLoad, asks question: SecurityQuestion) -> Bool
    func load(_ load: any SchemeLoad, didReceiveInformational head: HTTP1ResponseHead)
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
    /// A server wants to know who the user is. Answered by `load.answerChallenge`; until then the load stands still.
    func load(_ load: any SchemeLoad, isAsked question: AuthenticationQuestion, by response: LoadResponse?)
    /// The request goes out again after the server has asked who the user is, by a response if it speaks HTTP.
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

/// What is told of a body that comes in parts, each in place of the one before (MISC-23).
package enum WantedParts {
    /// The body as it is.
    case none
    /// Each, with a response of its own.
    case every
    /// The last one, with its response.
    case last
}

/// How the client gets the body of a response.
package enum BodyDestination: Sendable {
    /// As it comes.
    case pieces
    /// In one piece, at the end.
    case whole
    /// In a file, whose path comes at the end.
    case file(FileWriter.Place)
    /// In the file of a download that stopped, behind what is there if that is still good.
    case stopped(StoppedDownload)

    /// Where its file is, if it is a file.
    var folder: String? {
        switch self {
        case .pieces, .whole: nil
        case .file(.newFile(let folder)), .file(.replacement(let folder, _)): folder
        case .file(.existing(let path, _)): Self.folder(of: path)
        case .stopped(let download): Self.folder(of: download.path)
        }
    }

    static func folder(of path: String) -> String {
        path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
    }
}

/// What a load has when it ends.
package enum LoadedBody: Sendable {
    /// There is none, or it went to the client piece by piece.
    case nothing
    case whole(Data)
    /// A closed file, the client's from now on.
    case file(path: String)
    /// The same, of a load that failed; without a point the download can't go on from there.
    case stopped(path: String, DownloadResumePoint?)
    /// What another upload can go on with, of a load that failed.
    case unsent(StoppedUpload)
}

/// Whether the client lets the load go on at once or will say so later.
package enum LoadAnswer {
    case now
    case later
}

package struct LoadResponse {
    package var url: HTTPURL
    package var head: HTTP1ResponseHead
    package var expectedLength: Int64
    /// How much of the body an earlier download has left, when this response brings the rest.
    package var resumedOffset: Int64?
    /// Whether this is a part of a body in parts.
    package var isPart = false

    package init(url: HTTPURL, head: HTTP1ResponseHead, expectedLength: Int64) {
        self.url = url
        self.head = head
        self.expectedLength = expectedLength
    }
}
