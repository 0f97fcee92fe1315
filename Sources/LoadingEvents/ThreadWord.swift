#if DEBUG
    internal import Glibc

    /// A word of each thread, 0 at first: what the checks of debug builds know about the thread that runs.
    ///
    /// A process that has used up its keys has no such words; nothing is checked there.
    package struct ThreadWord: Sendable {
        // Not an optional key: each lock reads a word, and in debug builds `Optional.map` takes most of the time of that.
        private let key: pthread_key_t
        package let isAvailable: Bool

        package init() {
            var key = pthread_key_t()
            isAvailable = pthread_key_create(&key, nil) == 0
            self.key = key
        }

        package var value: UInt {
            get { isAvailable ? UInt(bitPattern: pthread_getspecific(key)) : 0 }
            nonmutating set { if isAvailable { pthread_setspecific(key, UnsafeRawPointer(bitPattern: newValue)) } }
        }
    }
#endif
