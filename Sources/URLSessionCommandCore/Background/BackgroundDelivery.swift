import Dispatch
import Foundation
import URLLoading

/// `background deliver`: moves finished downloads of `background add` to their places. The background service runs it.
final class BackgroundDelivery: NSObject, URLSessionDownloadDelegate, @unchecked Sendable {
    // Sendable: nothing changes but the semaphore, and `done` is set before the session exists.

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
        return .success
    }

    func urlSession(_ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL) {
        // An error page is not the file.
        guard let target = downloadTask.taskDescription,
            (downloadTask.response as? HTTPURLResponse)?.statusCode ?? 0 < 300
        else { return }
        try? FileManager.default.moveItem(at: location, to: Self.freePlace(for: target))
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
