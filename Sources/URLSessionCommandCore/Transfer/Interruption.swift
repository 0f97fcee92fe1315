import Dispatch

#if canImport(Musl)
    import Musl
#else
    import Glibc
#endif

/// Ctrl-C and termination, turned from sudden death into a request to stop.
struct Interruption {
    private let sources: [any DispatchSourceSignal]

    /// Calls `handler` once, away from the main thread. A second signal ends the process at once.
    init(_ handler: @escaping @Sendable (ExitCode) -> Void) {
        let queue = DispatchQueue(label: "urlsession.interruption")
        sources = [(SIGINT, ExitCode.interrupted), (SIGTERM, .terminated)].map { number, code in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler {
                signal(number, SIG_DFL)
                // A reader that takes nothing can hold the transfer for ever; nobody who pressed Ctrl-C waits for it.
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
