package import FoundationEssentials
package import LoadingConnections
package import LoadingEvents
package import LoadingProtocols
package import LoadingSemantics

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
    func load(_ load: Load, didSendBody bytes: Int64, total: Int64)
    /// The end, exactly once, after everything else. `body` is the whole body of a load that collects.
    func load(_ load: Load, didEndWith error: LoadError?, body: Data?)
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

    package init(url: HTTPURL, head: HTTP1ResponseHead, expectedLength: Int64) {
        self.url = url
        self.head = head
        self.expectedLength = expectedLength
    }
}
