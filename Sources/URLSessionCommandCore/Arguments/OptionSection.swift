/// The sections in which the switches are described.
enum OptionSection: String, CaseIterable {
    case request = "Request"
    case cookies = "Cookies and sessions"
    case time = "Time and size"
    case redirects = "Redirects"
    case series = "Several URLs"
    case connection = "Connection"
    case trust = "Trust"
    case user = "User"
    case output = "Output"
    case insight = "Insight"
    case general = "General"
    case download = "Downloads"
    case webSocket = "WebSockets"
    case connect = "Connections"
    case background = "Background transfers"

    /// The only command that takes the switches of the section; nil if several do.
    var owner: String? {
        switch self {
        case .download: "download"
        case .webSocket: "ws"
        case .connect: "connect"
        case .background: "background"
        default: nil
        }
    }
}
