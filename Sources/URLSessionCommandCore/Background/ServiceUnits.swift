/// The units with which systemd starts the background service of a user.
package struct ServiceUnits: Equatable, Sendable {
    package let socket: String
    package let service: String

    /// The first line of each file. A file without it was not written by this command, and is not replaced.
    package static let mark = "# Written by 'urlsession background install'."
    package static let socketName = "urlsessiond.socket"
    package static let serviceName = "urlsessiond.service"

    /// - Parameter command: The absolute path of a program that runs the service, and its arguments.
    package init(command: [String]) {
        socket = """
            \(Self.mark)
            [Unit]
            Description=Background transfers of programs that use URLSession

            [Socket]
            ListenStream=%t/swift-url-loading/urlsessiond.socket
            FileDescriptorName=urlsessiond
            SocketMode=0600
            DirectoryMode=0700

            [Install]
            WantedBy=sockets.target

            """
        // Programs that the service launches outlive it.
        service = """
            \(Self.mark)
            [Unit]
            Description=Background transfers of programs that use URLSession
            Requires=urlsessiond.socket
            After=urlsessiond.socket

            [Service]
            ExecStart=\(command.map { "\"\(Self.escaped($0))\"" }.joined(separator: " "))
            KillMode=process

            [Install]
            WantedBy=default.target

            """
    }

    /// In a quoted command line of a unit file (systemd.service, "Command lines").
    private static func escaped(_ path: String) -> String {
        var text = ""
        for character in path {
            switch character {
            case "\\", "\"": text += "\\" + String(character)
            case "%", "$": text += String(repeating: character, count: 2)
            default: text.append(character)
            }
        }
        return text
    }
}
