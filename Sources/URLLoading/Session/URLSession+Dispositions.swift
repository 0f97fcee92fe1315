extension URLSession {
    /// What to do about an authentication challenge.
    public enum AuthChallengeDisposition: Int, Sendable {
        /// Use the credential given with it; with nil, go on without one.
        case useCredential = 0
        /// Do what would be done if there were no delegate. The credential is ignored.
        case performDefaultHandling = 1
        /// End the whole task with `cancelled`. The credential is ignored.
        case cancelAuthenticationChallenge = 2
        /// Try the next protection space the server offers, if any. The credential is ignored.
        case rejectProtectionSpace = 3
    }

    /// What to do with a data task whose response has come.
    public enum ResponseDisposition: Int, Sendable {
        /// End the task, as `cancel()` does.
        case cancel = 0
        /// Deliver the body.
        case allow = 1
        /// Turn the task into a download task.
        case becomeDownload = 2
        /// Turn the task into a stream task.
        case becomeStream = 3
    }

    /// What to do with a background task whose time has come.
    public enum DelayedRequestDisposition: Int, Sendable {
        /// Send the original request.
        case continueLoading = 0
        /// Send the request given with it instead.
        case useNewRequest = 1
        /// End the task with `cancelled`.
        case cancel = 2
    }
}
