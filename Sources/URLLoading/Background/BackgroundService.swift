package import BackgroundTransfers
internal import Foundation
internal import Glibc
internal import LoadingEvents
internal import LoadingPipeline
package import LoadingStorage
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
                program: ServiceProgram.executable ?? "urlsessiond", makeEnvironment: environment, becameIdle: becameIdle)
        }
    }

    private static func environment(
        application: String, description: SessionDescription, loop: EventLoop
    ) -> LoadingEnvironment {
        var values = SessionValues()
        values.httpMaximumConnectionsPerHost = description.maximumPerHost
        if let minimum = tls_protocol_version_t(rawValue: description.minimumTLS) {
            values.tlsMinimumSupportedProtocolVersion = minimum
        }
        if let maximum = tls_protocol_version_t(rawValue: description.maximumTLS) {
            values.tlsMaximumSupportedProtocolVersion = maximum
        }
        values.connectionProxyDictionary = propertyList(description.proxies)
        // Empty, because those of this process are not the application's.
        values.appTransportSecurity = propertyList(description.transportSecurity) ?? [:]
        return LoadingEnvironment(values, on: loop)
    }

    private static func propertyList(_ data: Data?) -> [String: Any]? {
        data.flatMap { try? PropertyListSerialization.propertyList(from: $0, format: nil) } as? [String: Any]
    }
}

/// Called by `CLoadingDaemon` before `main`, in a program that a library has started as the service.
@_cdecl("loading_run_background_service")
package func runBackgroundService(_ listener: Int32) { BackgroundService.run(ServiceListener(inherited: listener)) }
