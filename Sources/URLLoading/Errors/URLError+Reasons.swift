public import Foundation

extension URLError {
    /// App Transport Security forbids a cleartext load.
    public static var appTransportSecurityRequiresSecureConnection: Code {
        .appTransportSecurityRequiresSecureConnection
    }

    /// A resource exceeds the allowed size; also the error for a GET with a body.
    public static var dataLengthExceedsMaximum: Code { .dataLengthExceedsMaximum }

    /// Why the system cancelled a background task.
    @frozen public enum BackgroundTaskCancelledReason: Int, Sendable {
        /// The user forced the program to quit.
        case userForceQuitApplication = 0
        /// Background updates are disabled.
        case backgroundUpdatesDisabled = 1
        /// The system has insufficient resources.
        case insufficientSystemResources = 2
    }

    /// Why an available network must not be used.
    @frozen public enum NetworkUnavailableReason: Int, Sendable {
        /// It is cellular, and cellular access is not allowed.
        case cellular = 0
        /// It is expensive (metered), and expensive access is not allowed.
        case expensive = 1
        /// It is constrained (data-saving mode), and constrained access is not allowed.
        case constrained = 2
        /// It is ultra-constrained (very low capacity), and such access is not allowed.
        case ultraConstrained = 3
    }

    /// Why the system cancelled the background task, or nil if it did not.
    public var backgroundTaskCancelledReason: BackgroundTaskCancelledReason? {
        (userInfo[NSURLErrorBackgroundTaskCancelledReasonKey] as? Int).flatMap { .init(rawValue: $0) }
    }

    /// Why the network must not be used, or nil if that was not the cause. Always nil for errors of this library: on
    /// Linux no interface is excluded because of its type.
    public var networkUnavailableReason: NetworkUnavailableReason? {
        (userInfo[NSURLErrorNetworkUnavailableReasonKey] as? Int).flatMap { .init(rawValue: $0) }
    }

    /// The server's trust object that failed evaluation, or nil if that was not the cause.
    public var failureURLPeerTrust: SecTrust? { userInfo[NSURLErrorFailingURLPeerTrustErrorKey] as? SecTrust }

    /// The resume data for `downloadTask(withResumeData:)`, or nil if the download cannot be resumed.
    ///
    /// After the first access the partial file is kept, also after the process has ended. Otherwise it is removed when
    /// the error and its resume data are released.
    public var downloadTaskResumeData: Data? {
        let data = userInfo[NSURLSessionDownloadTaskResumeData] as? Data
        if let data { DownloadResumeData.take(data) }
        return data
    }

    /// The resume data for `uploadTask(withResumeData:)`, or nil if the upload cannot be resumed.
    public var uploadTaskResumeData: Data? { userInfo[NSURLSessionUploadTaskResumeData] as? Data }
}

/// The `userInfo` key of why the network must not be used, a `URLError.NetworkUnavailableReason`.
public let NSURLErrorNetworkUnavailableReasonKey = "NSURLErrorNetworkUnavailableReasonKey"
/// The `userInfo` key of a failed download's resume data, `Data`. To keep the partial file after the process has ended,
/// access it through `URLError.downloadTaskResumeData`.
public let NSURLSessionDownloadTaskResumeData = "NSURLSessionDownloadTaskResumeData"
/// The name of ``NSURLSessionDownloadTaskResumeData`` in the toolchain's FoundationNetworking.
public let URLSessionDownloadTaskResumeData = NSURLSessionDownloadTaskResumeData
/// The `userInfo` key of a failed upload's resume data, `Data`.
public let NSURLSessionUploadTaskResumeData = "NSURLSessionUploadTaskResumeData"
/// Apple's code for a file outside the accessible area. Not produced by this library.
public let NSURLErrorFileOutsideSafeArea = -1104
