/// The arguments of `urlsession background`, beyond those of all loads.
package struct BackgroundOptions: Equatable, Sendable {
    package enum Action: String, CaseIterable, Sendable {
        case add, list, watch, pause, resume, cancel, log, install
        /// Takes the results of `add`; the background service runs it.
        case deliver
        /// Runs the background service; systemd runs it.
        case serve

        /// Those that people use.
        package static let forPeople = allCases.filter { $0 != .deliver && $0 != .serve }
    }

    package var action: Action
    /// The URLs of `add`; for others, which transfers.
    package var words: [String] = []
    /// The file to send.
    package var upload: String?
    package var isJSON = false

    package init(_ action: Action) { self.action = action }
}
