internal import CLoadingLinux
internal import Glibc

/// Detached threads. SIGXFSZ is blocked on them, so that a file above the size limit of the process is an error and
/// does not end the process.
package enum DetachedThread {
    /// Starts a thread. Returns false if the system refuses, for lack of memory or because of a limit.
    package static func startIfPossible(named name: String, _ body: @escaping @Sendable () -> Void) -> Bool {
        let start = Unmanaged.passRetained(ThreadStart(name: name, body: body))
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        defer { pthread_attr_destroy(&attributes) }
        var thread = pthread_t()
        let failure = pthread_create(
            &thread, &attributes,
            { context in
                guard let context else { return nil }
                let start = Unmanaged<ThreadStart>.fromOpaque(context).takeRetainedValue()
                cll_name_thread(start.name)
                cll_block_file_size_signal()
                start.body()
                return nil
            }, start.toOpaque())
        if failure != 0 { start.release() }
        return failure == 0
    }
}

private final class ThreadStart: Sendable {
    let name: String
    let body: @Sendable () -> Void

    init(name: String, body: @escaping @Sendable () -> Void) {
        self.name = name
        self.body = body
    }
}
