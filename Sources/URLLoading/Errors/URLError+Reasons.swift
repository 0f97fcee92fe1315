public import Foundation

extension URLError {
    /// A load in the clear that App Transport Security forbids.
    public static var appTransportSecurityRequiresSecureConnection: Code {
        .appTransportSecurityRequiresSecureConnection
    }

    /// A resource larger than allowed; also a GET with a body.
    public static var dataLengthExceedsMaximum: Code { .dataLengthExceedsMaximum }

    /// Why the system cancelled a background task.
    public enum BackgroundTaskCancelledReason: Int, Sendable {
        /// The user ended the program by force.
        case userForceQuitApplication = 0
        /// Background work is switched off.
        case backgroundUpdatesDisabled = 1
        /// The system is short of resources.
        case insufficientSystemResources = 2
    }

    /// Why a network that exists may not be used.
    public enum NetworkUnavailableReason: Int, Sendable {
        /// It is cellular, and that is forbidden.
        case cellular = 0
        /// It is metered, and that is forbidden.
        case expensive = 1
        /// It saves data, and that is forbidden.
        case constrained = 2
        /// It has very low capacity, and that was not allowed.
        case ultraConstrained = 3
    }

    /// Why the system cancelled the background task, or nil if it did not.
    public var backgroundTaskCancelledReason: BackgroundTaskCancelledReason? {
        (userInfo[NSURLErrorBackgroundTaskCancelledReasonKey] as? Int).flatMap { .init(rawValue: $0) }
    }

    /// Why the network could not be used, or nil if that was not the cause. Nil for every error of this library: on Linux no
    /// interface is refused for what it is.
    public var networkUnavailableReason: NetworkUnavailableReason? {
        (userInfo[NSURLErrorNetworkUnavailableReasonKey] as? Int).flatMap { .init(rawValue: $0) }
    }

    /// The trust in the server that was refused, or nil if that was not the cause.
    public var failureURLPeerTrust: SecTrust? { userInfo[NSURLErrorFailingURLPeerTrustErrorKey] as? SecTrust }

    /// What `downloadTask(withResumeData:)` takes to go on with the failed download, or nil if it cannot go on.
    ///
    /// From the first access on what has come of the download is kept, also beyond the end of the process; otherwise it is
    /// removed when nothing holds the error and its resume data any more.
    public var downloadTaskResumeData: Data? {
        let data = userInfo[NSURLSessionDownloadTaskResumeData] as? Data
        if let data { DownloadResumeData.take(data) }
        return data
    }

    /// What `uploadTask(withResumeData:)` takes to go on with the failed upload, or nil if it cannot go on.
    public var uploadTaskResumeData: Data? { userInfo[NSURLSessionUploadTaskResumeData] as? Data }
}
