package import FoundationEssentials
package import LoadingSemantics

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
