internal import BackgroundTransfers
internal import Foundation

/// How the program is launched when the transfers of a background session need it: all have ended, or one has a
/// challenge or a delayed request for the delegate, and no process of the program has a session with that identifier.
/// An addition to Apple's API, where the system knows the app.
///
/// The launched program finds the identifier with ``URLSession/handleEventsForBackgroundSessions(_:)``, and makes a
/// session with it. It is not launched a second time while it runs, and after it has failed to make the session only
/// after a delay.
public struct BackgroundLaunch: Sendable, Hashable {
    let method: LaunchMethod

    /// Runs an executable, with the environment and the working directory of the background service and the variable
    /// `URLSESSION_BACKGROUND_IDENTIFIER`.
    ///
    /// - Parameters:
    ///   - path: The absolute path of the executable.
    ///   - arguments: The arguments after the name.
    public static func command(_ path: String, _ arguments: [String] = []) -> BackgroundLaunch {
        BackgroundLaunch(method: .command([path] + arguments))
    }

    /// Starts a unit of the user's systemd, for example `backup.service`.
    ///
    /// The instance of a template unit, `backup@.service`, is the identifier of the session, escaped as by
    /// `systemd-escape`. With `Environment=URLSESSION_BACKGROUND_IDENTIFIER=%I` in the unit, the program has it in
    /// ``URLSession/launchedBackgroundIdentifier``.
    public static func systemdUnit(_ name: String) -> BackgroundLaunch { BackgroundLaunch(method: .systemdUnit(name)) }

    /// Activates the service that owns a name on the session bus, for example `org.example.Backup`.
    public static func busName(_ name: String) -> BackgroundLaunch { BackgroundLaunch(method: .busName(name)) }
}

extension URLSessionConfiguration {
    /// How the program is launched for events of a background session if ``sessionSendsLaunchEvents`` is true. Nil, the
    /// default: it is not launched, and gets the events when it makes a session with the identifier again.
    @_disfavoredOverload
    public var backgroundLaunch: BackgroundLaunch? {
        get { backgroundLaunchValue }
        set { backgroundLaunchValue = newValue }
    }
}

extension URLSession {
    /// The identifier of the background session whose events this program was launched for; nil if it was started
    /// otherwise.
    @_disfavoredOverload
    public static var launchedBackgroundIdentifier: String? {
        ProcessInfo.processInfo.environment[ProgramLauncher.identifierVariable]
    }

    /// Handles the launch of this program for events of a background session. Call it once, early in `main`.
    ///
    /// If the program was launched for a session, the handler is called at once, on the calling thread, as Apple calls
    /// `application(_:handleEventsForBackgroundURLSession:completionHandler:)`. It makes a session with the identifier,
    /// whose delegate then gets the events. The completion handler is called when the program has handled them, usually
    /// in ``URLSessionDelegate/urlSessionDidFinishEvents(forBackgroundURLSession:)``; on any thread. From then on the
    /// program can be launched again at once.
    ///
    ///     URLSession.handleEventsForBackgroundSessions { identifier, completionHandler in
    ///         downloads = Downloads(identifier, whenDone: completionHandler)
    ///     }
    @_disfavoredOverload
    public static func handleEventsForBackgroundSessions(
        _ handler: (_ identifier: String, _ completionHandler: @escaping @Sendable () -> Void) -> Void
    ) {
        guard let identifier = launchedBackgroundIdentifier else { return }
        handler(identifier) { BackgroundSessions.shared.handledEvents(of: identifier) }
    }
}
