package import FoundationEssentials
package import LoadingSemantics
package import LoadingTransport

/// Where the body of a response is delivered. What few loads have is indirect, so that a copy costs the others nothing.
package enum BodyDestination: Sendable {
    /// To the client in pieces, as it arrives.
    case pieces
    /// To the client in one piece, at the end.
    case whole
    /// To a file, whose path is reported at the end.
    indirect case file(FileWriter.Destination)
    /// To the file of a stopped download, after the existing bytes if these are still valid.
    indirect case stopped(StoppedDownload)

    /// The folder of the file; nil without a file.
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

/// The body of a load at its end. What few loads have is indirect, because each end is copied several times.
package enum LoadedBody: Sendable {
    /// No body, or one that was delivered in pieces.
    case nothing
    case whole(Data)
    /// A closed file, which belongs to the client from now on.
    case file(path: String)
    /// The closed file of a load that failed. Without a resume point the download cannot resume.
    indirect case stopped(path: String, DownloadResumePoint?)
    /// The state from which another upload can resume, for a load that failed.
    indirect case unsent(StoppedUpload)
}
