package import LoadingTransport

/// Launches the programs of sessions (BG-11). Never blocks its loop, to which it is confined.
package final class ProgramLauncher {
    package enum Event: Equatable, Sendable {
        /// The program runs, or the unit or the name was started.
        case started
        /// Of a command only, after `started`.
        case ended
        /// Instead of `started`.
        case failed(LaunchFailure)
    }

    /// The variable that tells a program which of its sessions it is launched for.
    package static let identifierVariable = "URLSESSION_BACKGROUND_IDENTIFIER"

    private let loop: EventLoop

    package init(on loop: EventLoop) { self.loop = loop }

    /// - Parameters:
    ///   - identifier: The session's identifier, for the environment of a command.
    ///   - event: Called on the loop, never from within this method.
    package func launch(_ method: LaunchMethod, identifier: String, event: @escaping (Event) -> Void) {
        let event = LoopBox(event)
        loop.post { event.value(.failed(.noResources)) }
    }
}
