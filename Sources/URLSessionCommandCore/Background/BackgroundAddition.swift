import BackgroundTransfers
import Dispatch
import Foundation
import URLLoading

/// `background add`: creates the tasks in a background session of their own, and leaves them to the service.
final class BackgroundAddition: NSObject, URLSessionDelegate, @unchecked Sendable {
    // Sendable: the only state that changes is the semaphore.

    private struct Transfer {
        let request: URLRequest
        /// The file of a download.
        let target: String
        let upload: URL?
    }

    private let command: CommandLineRequest
    private let transfers: [Transfer]
    private let isLeft = DispatchSemaphore(value: 0)

    init(_ command: CommandLineRequest, _ options: BackgroundOptions, terminal: Terminal) throws(UsageError) {
        self.command = command
        var transfers: [Transfer] = []
        for url in options.words {
            var request = command
            request.url = url
            let built = try RequestBuilder(request).request
            guard ["http", "https"].contains(built.url?.scheme?.lowercased()) else {
                throw UsageError(
                    "'\(url)': only http and https are transferred in the background", exitCode: .unsupportedURL)
            }
            if let file = options.upload {
                let path = Self.absolute(file)
                guard FileManager.default.isReadableFile(atPath: path) else {
                    throw UsageError("'\(file)' cannot be read", exitCode: .readError)
                }
                transfers.append(Transfer(request: built, target: "", upload: URL(fileURLWithPath: path)))
            } else {
                let target = try Self.target(of: url, command.destination, isOneOfMany: options.words.count > 1)
                guard !FileManager.default.fileExists(atPath: target),
                    !transfers.contains(where: { $0.target == target })
                else { throw UsageError("'\(target)' already exists", exitCode: .writeError) }
                transfers.append(Transfer(request: built, target: target, upload: nil))
            }
        }
        self.transfers = transfers
    }

    /// The absolute path of the file that a download makes.
    static func target(
        of url: String, _ destination: CommandLineRequest.Destination, isOneOfMany: Bool
    ) throws(UsageError) -> String {
        guard case .file(let path) = destination else {
            return absolute(try URLArgument.remoteName(of: url, for: "'add'"))
        }
        var isFolder: ObjCBool = false
        let exists = FileManager.default.fileExists(atPath: path, isDirectory: &isFolder)
        if exists && isFolder.boolValue || path.hasSuffix("/") {
            guard exists else { throw UsageError("there is no folder '\(path)'", exitCode: .writeError) }
            return absolute(
                path + (path.hasSuffix("/") ? "" : "/") + (try URLArgument.remoteName(of: url, for: "'add'")))
        }
        if isOneOfMany { throw UsageError("several downloads need a folder: '\(path)' is none") }
        return absolute(path)
    }

    private static func absolute(_ path: String) -> String {
        path.hasPrefix("/") ? path : FileManager.default.currentDirectoryPath + "/" + path
    }

    func run() throws(UsageError) -> ExitCode {
        guard let program = ServiceProgram.executable else {
            throw UsageError("the path of this program is not known", exitCode: .unexpected)
        }
        // Of its own, so that another `add` at the same time does not find the session in use.
        let identifier = "add-\(UUID().uuidString.prefix(8).lowercased())"
        let configuration = URLSessionConfiguration.background(withIdentifier: identifier)
        configuration.isDiscretionary = command.isDiscretionary
        configuration.backgroundLaunch = .command(program, ["background", BackgroundOptions.Action.deliver.rawValue])
        let session = URLSession(configuration: configuration, delegate: self, delegateQueue: nil)
        let tasks = transfers.map { transfer in
            let task =
                transfer.upload.map { session.uploadTask(with: transfer.request, fromFile: $0) as URLSessionTask }
                ?? session.downloadTask(with: transfer.request)
            task.taskDescription = transfer.upload == nil ? transfer.target : nil
            task.resume()
            return task
        }
        // The service has the tasks when it has listed them.
        session.getAllTasks { [isLeft] _ in isLeft.signal() }
        isLeft.wait()
        for (task, transfer) in zip(tasks, transfers) {
            if let error = task.error as? URLError {
                throw UsageError(
                    "the background service cannot be used: \(error.localizedDescription)", exitCode: .unavailable)
            }
            if command.isSilent { continue }
            let target = transfer.upload == nil ? " → \(TextSanitizer.clean(transfer.target))" : ""
            StandardError.write("added \(identifier)/\(task.taskIdentifier)\(target)\n")
        }
        return .success
    }
}
