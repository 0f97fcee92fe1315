/// In `userInfo` of `notConnectedToInternet`: why the network may not be used, a `URLError.NetworkUnavailableReason`.
public let NSURLErrorNetworkUnavailableReasonKey = "NSURLErrorNetworkUnavailableReasonKey"
/// In `userInfo` of a failed download: what `downloadTask(withResumeData:)` takes to go on, `Data`. To keep it beyond the
/// end of the process take it by `URLError.downloadTaskResumeData`.
public let NSURLSessionDownloadTaskResumeData = "NSURLSessionDownloadTaskResumeData"
/// In `userInfo` of a failed upload: what `uploadTask(withResumeData:)` takes to go on, `Data`.
public let NSURLSessionUploadTaskResumeData = "NSURLSessionUploadTaskResumeData"
/// A file could not be reached from where it is.
public let NSURLErrorFileOutsideSafeArea = -1104
