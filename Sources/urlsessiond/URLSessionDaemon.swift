internal import BackgroundTransfers
internal import LoadingStorage
internal import URLLoading

/// The service of background transfers as a program of its own: started by a library, before `main`; by systemd, which
/// has its socket; or by hand.
@main enum URLSessionDaemon {
    static func main() {
        BackgroundService.run(ServiceListener.ofSystemd(environment: StorageDirectory.variable))
    }
}
