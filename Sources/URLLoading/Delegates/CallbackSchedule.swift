internal import CLoadingLinux
internal import Dispatch
internal import Foundation
internal import LoadingEvents
internal import LoadingSemantics

/// The callbacks of a service, a browser, an `NSURLConnection` or a bound stream, and where they come: on a run loop,
/// on a queue of the program, or on a serial queue of the process.
///
/// They come in their order and one at a time, also if the place changes while some are due. Only a run loop that a
/// callback runs makes further ones meanwhile.
final class CallbackSchedule: @unchecked Sendable {
    // Sendable: the mutable state is guarded by the lock. Blocks are only added to the run loop, which any thread may
    // do.

    /// All share it, so that objects with the same delegate never call it at the same time.
    private static let sharedQueue = DispatchQueue(label: "NetService")

    /// A run loop with modes.
    private final class RunLoopPlace {
        let loop: RunLoop
        let modes: [RunLoop.Mode]
        /// On Linux `perform` does not wake a run loop that waits, and a timer that becomes due does. It also keeps the
        /// run loop from ending for lack of sources, as a scheduled service does on Apple platforms. One timer for all
        /// callbacks, because Foundation on Linux does not free timers.
        private let timer = Timer(fire: .distantFuture, interval: 1_000_000_000, repeats: true) { _ in }

        init(_ loop: RunLoop, _ modes: [RunLoop.Mode]) {
            self.loop = loop
            self.modes = modes
            for mode in modes { loop.add(timer, forMode: mode) }
        }

        deinit { timer.invalidate() }

        func perform(_ body: @escaping @Sendable () -> Void) {
            loop.perform(inModes: modes) {
                body()
                // `RunLoop.run(mode:before:)` returns after a source, and not after a block. A program that waits for a
                // callback runs the loop until it has come.
                cll_return_from_run_loop()
            }
            timer.fireDate = Date()
        }
    }

    private struct State {
        var runLoop: RunLoopPlace?
        /// Takes precedence over the run loop.
        var queue: OperationQueue?
        /// How often the place has changed. A block that was enqueued at another place does nothing.
        var generation: UInt64 = 0
        var callbacks = FIFOQueue<@Sendable () -> Void>()
        /// Whether a block for the first callback is enqueued at the current place.
        var isEnqueued = false
        /// The thread that makes a callback, and how many, one within the other.
        var caller: pthread_t?
        var depth = 0
        var isEnded = false
    }

    /// Whether callbacks wait while there is neither a run loop nor a queue of the program, as those of streams do.
    private let waitsForRunLoop: Bool
    private let lock = Lock()
    private var state = State()

    init(waitsForRunLoop: Bool = false) { self.waitsForRunLoop = waitsForRunLoop }

    // MARK: The place

    /// Adds a mode of a run loop, which replaces another run loop, and the program's queue.
    func add(_ loop: RunLoop, _ mode: RunLoop.Mode) {
        changePlace { state in
            let modes = state.runLoop?.loop === loop ? state.runLoop?.modes ?? [] : []
            guard state.queue != nil || !modes.contains(mode) else { return false }
            if !modes.contains(mode) { state.runLoop = RunLoopPlace(loop, modes + [mode]) }
            state.queue = nil
            return true
        }
    }

    /// Uses a run loop if there is neither another one nor a queue of the program.
    func addFirst(_ loop: RunLoop, _ mode: RunLoop.Mode) {
        changePlace { state in
            guard state.runLoop == nil, state.queue == nil else { return false }
            state.runLoop = RunLoopPlace(loop, [mode])
            return true
        }
    }

    /// Removes a mode. Without any mode, and without a queue of the program, the shared queue is used, unless callbacks
    /// wait.
    func remove(_ loop: RunLoop, _ mode: RunLoop.Mode) {
        changePlace { state in
            guard let place = state.runLoop, place.loop === loop, place.modes.contains(mode) else { return false }
            let modes = place.modes.filter { $0 != mode }
            state.runLoop = modes.isEmpty ? nil : RunLoopPlace(loop, modes)
            return true
        }
    }

    /// The program's queue. Without it the run loop is used.
    var queue: OperationQueue? {
        get { lock.withLock { state.queue } }
        set {
            changePlace { state in
                defer { state.queue = newValue }
                return state.queue !== newValue
            }
        }
    }

    /// Drops the callbacks that are due, and releases the place. There are no further ones.
    func end() {
        // Released outside the lock: an object's end may call anything.
        _ = lock.withLock {
            let dropped = (state.callbacks, state.runLoop, state.queue)
            (state.callbacks, state.runLoop, state.queue) = (FIFOQueue(), nil, nil)
            state.isEnded = true
            return dropped
        }
    }

    /// - Parameter change: Returns whether there is another place now.
    private func changePlace(_ change: (inout State) -> Bool) {
        let old = lock.withLock {
            let old = (state.runLoop, state.queue)
            if !state.isEnded, change(&state) {
                state.generation += 1
                state.isEnqueued = false
            }
            return old
        }
        // Released outside the lock.
        withExtendedLifetime(old) { enqueueNext() }
    }

    // MARK: Callbacks

    func perform(_ callback: @escaping @Sendable () -> Void) {
        lock.withLock { if !state.isEnded { state.callbacks.append(callback) } }
        enqueueNext()
    }

    /// Enqueues a block for the first callback. On a queue not before the current one has ended, since the queue may be
    /// concurrent.
    private func enqueueNext() {
        let next = lock.withLock { () -> (UInt64, RunLoopPlace?, OperationQueue?)? in
            guard !state.callbacks.isEmpty, !state.isEnqueued else { return nil }
            let runLoop = state.queue == nil ? state.runLoop : nil
            guard runLoop != nil || state.caller == nil else { return nil }
            guard runLoop != nil || state.queue != nil || !waitsForRunLoop else { return nil }
            state.isEnqueued = true
            return (state.generation, runLoop, state.queue)
        }
        guard let (generation, runLoop, queue) = next else { return }
        let block: @Sendable () -> Void = { self.callNext(generation) }
        if let queue {
            queue.addCallback(block)
        } else if let runLoop {
            runLoop.perform(block)
        } else {
            Self.sharedQueue.async(execute: block)
        }
    }

    private func callNext(_ generation: UInt64) {
        let thread = pthread_self()
        let callback = lock.withLock { () -> (@Sendable () -> Void)? in
            guard generation == state.generation else { return nil }
            state.isEnqueued = false
            // Another thread still makes a callback, at the place before this one, and enqueues the next when it has
            // ended.
            guard state.caller ?? thread == thread, let callback = state.callbacks.popFirst() else { return nil }
            state.caller = thread
            state.depth += 1
            return callback
        }
        guard let callback else { return }
        // For a run loop that the callback runs.
        enqueueNext()
        callback()
        lock.withLock {
            state.depth -= 1
            if state.depth == 0 { state.caller = nil }
        }
        enqueueNext()
    }
}
