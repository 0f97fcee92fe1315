#if compiler(<6.2)
    internal import Dispatch
    internal import Synchronization

    extension Task where Failure == Never {
        /// Starts a task that runs synchronously up to its first suspension point. The standard library has this from
        /// Swift 6.2 on.
        @discardableResult
        static func immediate(_ operation: sending @escaping () async -> Success) -> Task {
            Task(executorPreference: StartingHere(), operation: operation)
        }
    }

    /// Runs the first job of a task synchronously, and later jobs on a Dispatch thread.
    private final class StartingHere: TaskExecutor {
        private let hasStarted = Atomic<Bool>(false)

        func enqueue(_ job: consuming ExecutorJob) {
            if hasStarted.exchange(true, ordering: .relaxed) {
                let job = UnownedJob(job)
                DispatchQueue.global().async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
            } else {
                job.runSynchronously(on: asUnownedTaskExecutor())
            }
        }
    }
#endif
