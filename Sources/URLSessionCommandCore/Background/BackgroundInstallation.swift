import BackgroundTransfers
import Foundation

/// `background install`: writes the units for systemd. Starts nothing, and asks for nothing.
struct BackgroundInstallation {
    private let folder: URL

    init() throws(UsageError) {
        let environment = ProcessInfo.processInfo.environment
        if let path = environment["XDG_CONFIG_HOME"], path.hasPrefix("/") {
            folder = URL(fileURLWithPath: path).appendingPathComponent("systemd/user")
        } else if let home = environment["HOME"], home.hasPrefix("/") {
            folder = URL(fileURLWithPath: home).appendingPathComponent(".config/systemd/user")
        } else {
            throw UsageError("there is no folder for units: HOME is not set", exitCode: .writeError)
        }
    }

    func run() throws(UsageError) -> ExitCode {
        let units = ServiceUnits(command: try Self.command())
        let files = [(ServiceUnits.socketName, units.socket), (ServiceUnits.serviceName, units.service)]
        for (name, _) in files { try check(name) }
        for (name, text) in files { try write(text, to: name) }
        StandardError.write(
            """
            Written: \(ServiceUnits.socketName) and \(ServiceUnits.serviceName) in \(TextSanitizer.clean(folder.path))
            To start the service at each login:
              systemctl --user daemon-reload
              systemctl --user enable --now \(ServiceUnits.socketName) \(ServiceUnits.serviceName)

            """)
        return .success
    }

    /// An installed `urlsessiond`, or this program, which contains the service too.
    private static func command() throws(UsageError) -> [String] {
        do throws(ServiceStartFailure) {
            if case .installed(let path) = try ServiceProgram.found() { return [path] }
        } catch {
            throw UsageError("\(error)", exitCode: .unavailable)
        }
        guard let own = ServiceProgram.executable else {
            throw UsageError("the path of this program is not known", exitCode: .unexpected)
        }
        return [own, "background", BackgroundOptions.Action.serve.rawValue]
    }

    /// A unit that was not written by this command is not replaced.
    private func check(_ name: String) throws(UsageError) {
        let path = folder.appendingPathComponent(name).path
        guard FileManager.default.fileExists(atPath: path) else { return }
        let text = try? String(contentsOfFile: path, encoding: .utf8)
        guard text?.hasPrefix(ServiceUnits.mark + "\n") ?? false else {
            throw UsageError(
                "'\(path)' is there already, and was not written by this command: remove it first",
                exitCode: .writeError)
        }
    }

    private func write(_ text: String, to name: String) throws(UsageError) {
        do {
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            try Data(text.utf8).write(to: folder.appendingPathComponent(name), options: .atomic)
        } catch {
            throw UsageError(
                "'\(folder.appendingPathComponent(name).path)' cannot be written: \(error.localizedDescription)",
                exitCode: .writeError)
        }
    }
}
