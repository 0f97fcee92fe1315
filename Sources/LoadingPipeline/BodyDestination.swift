package import FoundationEssentials
package import LoadingSemantics
package import LoadingTransport

/// How the client gets the body of a response.
package enum BodyDestination: Sendable {
    /// As it comes.
    case pieces
    /// In one piece, at the end.
    case whole
    /// In a file, whose path comes at the end.
    case file(FileWriter.Destination)
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
