import BackgroundTransfers
import Dispatch
import Foundation
import URLLoading

#if canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// `background deliver`: moves finished downloads of `background add` to their places. The background service runs it.
final class BackgroundDelivery: NSObject, URLSessionDownloadDelegate, @unchecked Sendable {
    // Sendable: `done` is set before the session exists. The delegate queue changes `code` until it signals `isDone`,
    // and it is read after that.

    private var code = ExitCode.success
    private let isDone = DispatchSemaphore(value: 0)
    private var done: (@Sendable () -> Void)?

    static func run() -> ExitCode {
        let delivery = BackgroundDelivery()
        var session: URLSession?
        URLSession.handleEventsForBackgroundSessions { identifier, completionHandler in
            delivery.done = completionHandler
            session = URLSession(
                configuration: .background(withIdentifier: identifier), delegate: delivery, delegateQueue: nil)
        }
        guard let session else {
            StandardError.write("urlsession: 'deliver' is for the background service\n")
            return .usage
        }
        delivery.isDone.wait()
        session.finishTasksAndInvalidate()
        return delivery.code
    }

    func urlSession(_ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL) {
        // An error page is not the file.
        guard let target = downloadTask.taskDescription,
            (downloadTask.response as? HTTPURLResponse)?.statusCode ?? 0 < 300
        else { return }
        // On the disk of the service, so that this place cannot be full too.
        let others = URL(fileURLWithPath: ServicePlace().folders.files).deletingLastPathComponent()
            .appendingPathComponent("delivered")
        guard let failure = Self.deliver(location, to: target, otherwiseTo: others) else { return }
        code = failure.exitCode
        StandardError.write("urlsession: \(failure.message)\n")
    }

    /// Moves the file to its place, or to the other folder, because it is removed otherwise. Returns why it is not in
    /// its place.
    static func deliver(_ file: URL, to target: String, otherwiseTo folder: URL) -> TransferFailure? {
        let shown = TextSanitizer.clean(target)
        let place = freePlace(for: target)
        let reason: String
        do {
            try FileManager.default.moveItem(at: file, to: place)
            return nil
        } catch {
            reason = described(error)
            // Of a move to another disk a part may be there, which must not be taken for the whole.
            if (error as? CocoaError)?.code != .fileWriteFileExists, FileManager.default.fileExists(atPath: file.path) {
                try? FileManager.default.removeItem(at: place)
            }
        }
        do {
            try FileManager.default.createDirectory(
                at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            let kept = freePlace(for: folder.appendingPathComponent(place.lastPathComponent).path)
            try FileManager.default.moveItem(at: file, to: kept)
            return TransferFailure(
                .writeError,
                "cannot move the download to '\(shown)' (\(reason)): it is in '\(TextSanitizer.clean(kept.path))'")
        } catch {
            return TransferFailure(
                .writeError, "cannot move the download to '\(shown)' (\(reason)), and it is lost (\(described(error)))")
        }
    }

    private static func described(_ error: any Error) -> String {
        guard let cause = (error as NSError).userInfo[NSUnderlyingErrorKey] as? POSIXError else {
            return FailureReasons.described(error)
        }
        return String(cString: strerror(cause.code.rawValue)).lowercased()
    }

    /// The place, or one with a number if there is a file by now.
    static func freePlace(for target: String) -> URL {
        var place = URL(fileURLWithPath: target)
        var number = 1
        while FileManager.default.fileExists(atPath: place.path) {
            number += 1
            place = URL(fileURLWithPath: "\(target).\(number)")
        }
        return place
    }

    func urlSessionDidFinishEvents(forBackgroundURLSession session: URLSession) {
        done?()
        isDone.signal()
    }
}
