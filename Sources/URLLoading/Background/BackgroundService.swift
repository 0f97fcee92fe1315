package import BackgroundTransfers
internal import Foundation
internal import Glibc
internal import LoadingEvents
internal import LoadingStorage
internal import LoadingTransport

/// The service of background transfers, in this process.
package enum BackgroundService {
    /// Runs the service until it ends. Called on the main thread, before any other thread exists.
    ///
    /// - Parameter listener: The socket; nil to make one.
    package static func run(_ listener: ServiceListener?, at place: ServicePlace = ServicePlace()) -> Never {
        ServiceProcess.run(listener, at: place) { loop, place, becameIdle in
            TransferService(
                on: loop, folders: place.folders, journal: TransferJournal(in: place.state),
                program: ServiceProgram.executable ?? "urlsessiond", makeEnvironment: makeBackgroundEnvironment,
                becameIdle: becameIdle)
        }
    }
}

/// Called by `CLoadingDaemon` before `main`, in a program that a library has started as the service.
@_cdecl("loading_run_background_service")
package func runBackgroundService(_ listener: Int32) { BackgroundService.run(ServiceListener(inherited: listener)) }
