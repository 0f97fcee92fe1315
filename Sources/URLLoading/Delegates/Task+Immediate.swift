#if compiler(<6.2)
    internal import Dispatch
    internal import Synchronization

    extension Task where Failure == Never {
        /// Starts a task whose first part, up to where it first waits, runs here and now. Swift has this itself from 6.2 on.
        @discardableResult
        static func immediate(_ operation: sending @escaping () async -> Success) -> Task {
            Task(executorPreference: StartingHere(), operation: operation)
        }
    }

    /// Runs the first part of one task in the call that makes it, and what follows on a thread of Dispatch's.
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
