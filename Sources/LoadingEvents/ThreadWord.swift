#if DEBUG
    internal import Glibc

    /// A word of each thread, 0 at first: what the checks of debug builds know about the thread that runs.
    ///
    /// A process that has used up its keys has no such words; nothing is checked there.
    package struct ThreadWord: Sendable {
        private let key: pthread_key_t?

        package init() {
            var key = pthread_key_t()
            self.key = pthread_key_create(&key, nil) == 0 ? key : nil
        }

        package var isAvailable: Bool { key != nil }

        package var value: UInt {
            get { key.map { UInt(bitPattern: pthread_getspecific($0)) } ?? 0 }
            nonmutating set {
                guard let key else { return }
                pthread_setspecific(key, UnsafeRawPointer(bitPattern: newValue))
            }
        }
    }
#endif
