/// The switches, with curl's names as aliases.
enum CommandOption: CaseIterable {
    case method, header, data, json, output, remoteName, follow, noFollow, maximumRedirects, timeout, idleTimeout
    case http11, http2, http3, include, verbose, silent, showError, fail, compressed, userAgent, noProgress
    case color, metrics, har, harSecrets, head, help, version, insecure, connectTimeout
    case authority, certificate, pin
    case user, basic, digest, negotiate, ntlm
    case resume, noResume, force, trace
    case subprotocol, binary, whole, ping, maximumMessage, wait
    case tls, startTLS
    case upload, discretionary

    var long: String {
        switch self {
        case .method: "method"
        case .header: "header"
        case .data: "data"
        case .json: "json"
        case .output: "output"
        case .remoteName: "remote-name"
        case .follow: "follow"
        case .noFollow: "no-follow"
        case .maximumRedirects: "max-redirects"
        case .timeout: "timeout"
        case .idleTimeout: "idle-timeout"
        case .http11: "http1.1"
        case .http2: "http2"
        case .http3: "http3"
        case .include: "include"
        case .verbose: "verbose"
        case .silent: "silent"
        case .showError: "show-error"
        case .fail: "fail"
        case .compressed: "compressed"
        case .userAgent: "user-agent"
        case .noProgress: "no-progress"
        case .color: "color"
        case .metrics: "metrics"
        case .har: "har"
        case .harSecrets: "har-with-secrets"
        case .head: "head"
        case .help: "help"
        case .version: "version"
        case .insecure: "insecure"
        case .connectTimeout: "connect-timeout"
        case .authority: "cacert"
        case .certificate: "cert"
        case .pin: "pin"
        case .user: "user"
        case .basic: "basic"
        case .digest: "digest"
        case .negotiate: "negotiate"
        case .ntlm: "ntlm"
        case .resume: "resume"
        case .noResume: "no-resume"
        case .force: "force"
        case .trace: "trace"
        case .subprotocol: "protocol"
        case .binary: "binary"
        case .whole: "whole"
        case .ping: "ping"
        case .maximumMessage: "max-message"
        case .wait: "wait"
        case .tls: "tls"
        case .startTLS: "starttls"
        case .upload: "upload"
        case .discretionary: "discretionary"
        }
    }

    /// The only command that takes the switch; nil if several do.
    var owner: String? {
        switch self {
        case .resume, .noResume, .force: "download"
        case .subprotocol, .binary, .whole, .ping, .maximumMessage, .wait: "ws"
        case .tls, .startTLS: "connect"
        case .upload, .discretionary: "background"
        default: nil
        }
    }

    /// curl's names for switches that have another name here.
    private static let aliases: [String: CommandOption] = [
        "request": .method, "location": .follow, "max-redirs": .maximumRedirects, "max-time": .timeout,
        "data-binary": .data, "data-raw": .data, "no-progress-meter": .noProgress,
        "pinnedpubkey": .pin, "http3-only": .http3, "har-secrets": .harSecrets,
    ]

    /// All long names, including aliases.
    static let allNames = allCases.map(\.long) + aliases.keys

    var short: Character? {
        switch self {
        case .method: "X"
        case .header: "H"
        case .data: "d"
        case .output: "o"
        case .remoteName: "O"
        case .follow: "L"
        case .timeout: "m"
        case .include: "i"
        case .verbose: "v"
        case .silent: "s"
        case .showError: "S"
        case .fail: "f"
        case .userAgent: "A"
        case .head: "I"
        case .help: "h"
        case .version: "V"
        case .insecure: "k"
        case .certificate: "E"
        case .user: "u"
        default: nil
        }
    }

    var takesValue: Bool {
        switch self {
        case .method, .header, .data, .json, .output, .maximumRedirects, .timeout, .idleTimeout, .userAgent, .color,
            .har, .connectTimeout, .authority, .certificate, .pin, .user, .subprotocol,
            .ping, .maximumMessage, .wait, .startTLS, .upload:
            true
        default:
            false
        }
    }

    init?(long name: String) {
        if let match = Self.allCases.first(where: { $0.long == name }) ?? Self.aliases[name] {
            self = match
        } else {
            return nil
        }
    }

    init?(short name: Character) {
        guard let match = Self.allCases.first(where: { $0.short == name }) else { return nil }
        self = match
    }
}

/// The switches in the form in which they are written on the command line.
package enum CommandSwitches {
    /// Long and short forms, without aliases.
    package static var all: [String] {
        CommandOption.allCases.flatMap { option in
            ["--" + option.long] + (option.short.map { ["-\($0)"] } ?? [])
        }
    }
}
