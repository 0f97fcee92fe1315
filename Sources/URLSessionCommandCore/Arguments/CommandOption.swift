/// The switches, with curl's names where curl has the same one. `facts` is the one table from which the parser, the
/// suggestions, the manual page and the completions of shells are made.
enum CommandOption: CaseIterable {
    case method, header, data, dataBinary, dataRaw, dataURLEncoded, json, form, formString, query, uploadFile, head
    case bearer, referer, userAgent, range, timeCondition, http11, http2, http3, url
    case cookie, cookieJar, junkSessionCookies, session, sessionReadOnly
    case timeout, connectTimeout, idleTimeout, retry, retryDelay, retryMaximumTime, retryAllErrors, retryRefused
    case limitRate, maximumFileSize
    case follow, noFollow, maximumRedirects
    case parallel, parallelMaximum, failEarly
    case proxy, proxyUser, noProxy, resolve, connectTo, ipv4, ipv6, unixSocket, abstractUnixSocket
    case insecure, authority, certificate, key, keyPassword, pin
    case tlsMinimum, tlsMaximum, tls1, tls10, tls11, tls12, tls13
    case user, basic, digest, negotiate, ntlm
    case output, remoteName, remoteNameAll, remoteHeaderName, outputFolder, createFolders, remoteTime
    case include, dumpHeader, writeOut, verbose, silent, showError, noProgress, progressBar, noBuffer, color
    case fail, failWithBody, compressed
    case metrics, trace, har, harSecrets
    case configuration, noDefaults, globOff, help, version
    case resume, noResume, force
    case subprotocol, binary, whole, ping, maximumMessage, wait
    case tls, startTLS
    case upload, discretionary

    var long: String { facts.long }
    var short: Character? { facts.short }
    var takesValue: Bool { facts.value != nil }
    /// The only command that takes the switch; nil if several do.
    var owner: String? { facts.section.owner }

    /// What is known of a switch.
    struct Facts {
        var long: String
        var short: Character?
        /// The name of the value; nil for a switch without one.
        var value: String?
        var section: OptionSection
        /// One sentence without a full stop.
        var summary: String
        /// curl's other names for the same.
        var aliases: [String]

        init(
            _ section: OptionSection, _ long: String, value: String? = nil, aliases: [String] = [], _ summary: String
        ) {
            self.section = section
            self.long = long
            self.value = value
            self.aliases = aliases
            self.summary = summary
        }

        init(
            _ section: OptionSection, _ long: String, _ short: Character, value: String? = nil,
            aliases: [String] = [], _ summary: String
        ) {
            self.section = section
            self.long = long
            self.short = short
            self.value = value
            self.aliases = aliases
            self.summary = summary
        }
    }

    /// All long names, including aliases.
    static let allNames = allCases.flatMap { [$0.facts.long] + $0.facts.aliases }

    private static let byName: [String: CommandOption] = Dictionary(
        allCases.flatMap { option in ([option.facts.long] + option.facts.aliases).map { ($0, option) } },
        uniquingKeysWith: { first, _ in first })

    private static let byLetter: [Character: CommandOption] = Dictionary(
        allCases.compactMap { option in option.facts.short.map { ($0, option) } },
        uniquingKeysWith: { first, _ in first })

    init?(long name: String) {
        guard let match = Self.byName[name] else { return nil }
        self = match
    }

    init?(short name: Character) {
        guard let match = Self.byLetter[name] else { return nil }
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
