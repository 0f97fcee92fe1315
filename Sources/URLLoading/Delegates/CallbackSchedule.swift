internal import CLoadingLinux
internal import Dispatch
internal import Foundation

/// Where the callbacks of services and of `NSURLConnection` come: on a run loop, or on a serial queue of the process.
struct CallbackSchedule {
    /// All share it, so that objects with the same delegate never call it at the same time.
    private static let queue = DispatchQueue(label: "NetService")

    /// A run loop with modes.
    private final class Place {
        let loop: RunLoop
        let modes: [RunLoop.Mode]
        /// On Linux `perform` does not wake a run loop that waits, and a timer that becomes due does. It also keeps the run
        /// loop from ending for lack of sources, as a scheduled service does on Apple platforms. One timer for all
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

    private var place: Place?

    /// Adds a mode of a run loop. Another run loop replaces the one before.
    mutating func add(_ loop: RunLoop, _ mode: RunLoop.Mode) {
        let modes = place?.loop === loop ? place?.modes ?? [] : []
        if !modes.contains(mode) { place = Place(loop, modes + [mode]) }
    }

    /// Removes a mode. Without any mode the queue is used.
    mutating func remove(_ loop: RunLoop, _ mode: RunLoop.Mode) {
        guard let place, place.loop === loop, place.modes.contains(mode) else { return }
        let modes = place.modes.filter { $0 != mode }
        self.place = modes.isEmpty ? nil : Place(loop, modes)
    }

    func perform(_ body: @escaping @Sendable () -> Void) {
        if let place { place.perform(body) } else { Self.queue.async(execute: body) }
    }
}
