import Dispatch

#if canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Handles SIGINT and SIGTERM: cancels the load instead of ending the process at once.
struct Interruption {
    private let sources: [any DispatchSourceSignal]

    /// Calls `handler` once, on a private queue. A second signal ends the process at once.
    init(_ handler: @escaping @Sendable (ExitCode) -> Void) {
        let queue = DispatchQueue(label: "urlsession.interruption")
        sources = [(SIGINT, ExitCode.interrupted), (SIGTERM, .terminated)].map { number, code in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler {
                signal(number, SIG_DFL)
                // A blocked write to a full pipe could delay the end forever. Exit after one second in any case.
                DispatchQueue.global().asyncAfter(deadline: .now() + 1) { _exit(code.rawValue) }
                handler(code)
            }
            source.activate()
            return source
        }
    }

    func end() {
        for source in sources { source.cancel() }
    }
}
