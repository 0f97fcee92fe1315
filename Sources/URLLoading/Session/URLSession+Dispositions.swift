extension URLSession {
    /// How to handle an authentication challenge.
    @frozen public enum AuthChallengeDisposition: Int, Sendable {
        /// Use the credential; with nil, continue without one.
        case useCredential = 0
        /// Handle the challenge as without a delegate. The credential is ignored.
        case performDefaultHandling = 1
        /// Cancel the task with `URLError.cancelled`. The credential is ignored.
        case cancelAuthenticationChallenge = 2
        /// Try the next protection space that the server offers. The credential is ignored.
        case rejectProtectionSpace = 3
    }

    /// How a data task continues after its response.
    @frozen public enum ResponseDisposition: Int, Sendable {
        /// Cancel the task, like `cancel()`.
        case cancel = 0
        /// Deliver the body.
        case allow = 1
        /// Turn the task into a download task.
        case becomeDownload = 2
        /// Turn the task into a stream task.
        case becomeStream = 3
    }

    /// How a delayed background task begins.
    @frozen public enum DelayedRequestDisposition: Int, Sendable {
        /// Send the original request.
        case continueLoading = 0
        /// Send the new request instead.
        case useNewRequest = 1
        /// Cancel the task with `URLError.cancelled`.
        case cancel = 2
    }
}
