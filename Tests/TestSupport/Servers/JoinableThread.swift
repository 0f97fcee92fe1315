internal import CTestTLS
internal import Glibc

/// A thread that can be joined, so that a stopped server leaves no threads.
final class JoinableThread: Sendable {
    private final class Body {
        let name: String
        let run: @Sendable () -> Void

        init(name: String, run: @escaping @Sendable () -> Void) {
            self.name = name
            self.run = run
        }
    }

    private let handle: pthread_t

    init(name: String, _ run: @escaping @Sendable () -> Void) throws {
        let body = Unmanaged.passRetained(Body(name: name, run: run))
        var handle = pthread_t()
        let code = pthread_create(
            &handle, nil,
            { argument in
                if let argument {
                    let body = Unmanaged<Body>.fromOpaque(argument).takeRetainedValue()
                    ctt_name_thread(body.name)
                    body.run()
                }
                return nil
            }, body.toOpaque())
        guard code == 0 else {
            body.release()
            throw POSIXFailure("pthread_create", code: code)
        }
        self.handle = handle
    }

    /// Waits for the end of the thread. Must be called once, and not on the thread itself.
    func join() {
        pthread_join(handle, nil)
    }
}
