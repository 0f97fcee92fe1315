package import FoundationEssentials
package import LoadingConnections
package import LoadingEvents
package import LoadingProtocols
package import LoadingSemantics
package import LoadingTransport

/// For whom a load is done: a task, seen from the engine. Called on the load's loop; must not block.
package protocol LoadClient: AnyObject {
    func loadIsWaitingForConnectivity(_ load: Load)
    func load(_ load: Load, didReceiveInformational head: HTTP1ResponseHead)
    /// The final response. `expectedLength` is that of the body as it will be delivered, -1 when unknown.
    func load(_ load: Load, didReceive response: LoadResponse) -> LoadAnswer
    /// A redirect that would be followed with `proposed`. Answered `.now` to follow it as it is; else by
    /// `load.answerRedirect`.
    func load(_ load: Load, willRedirectTo proposed: LoadRequest, response: LoadResponse) -> LoadAnswer
    /// A piece of the body, in order. False when the client has enough for now; `load.resumeReading()` goes on.
    func load(_ load: Load, didReceive data: Data) -> Bool
    /// So many bytes of a body that is given whole, at the end, are here.
    func load(_ load: Load, hasCollected total: Int64)
    /// So many more bytes of the body are in the file.
    func load(_ load: Load, hasWritten count: Int64)
    /// The body is a stream, and one is needed that begins so many bytes into it. Answered by `load.provideBody`.
    func load(_ load: Load, needsBodyFrom offset: Int64)
    /// The body, which nobody has announced, has so many bytes.
    func load(_ load: Load, willSendBodyOf length: Int64)
    func load(_ load: Load, didSendBody bytes: Int64, total: Int64)
    /// The end, exactly once, after everything else. After an error `body` is nothing, or the file with as much of the
    /// body as had come.
    func load(_ load: Load, didEndWith error: LoadError?, body: LoadedBody)
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

    package init(url: HTTPURL, head: HTTP1ResponseHead, expectedLength: Int64) {
        self.url = url
        self.head = head
        self.expectedLength = expectedLength
    }
}
