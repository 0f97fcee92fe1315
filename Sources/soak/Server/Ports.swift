/// The ports of the server.
struct Ports: Sendable, Equatable {
    var plain: UInt16
    var secure: UInt16
    /// Resets every connection at once.
    var resetting: UInt16
    /// Responds to a TLS client without TLS.
    var insecure: UInt16
    /// Not listening.
    var refusing: UInt16

    var line: String { "\(plain) \(secure) \(resetting) \(insecure) \(refusing)" }

    init(plain: UInt16, secure: UInt16, resetting: UInt16, insecure: UInt16, refusing: UInt16) {
        self.plain = plain
        self.secure = secure
        self.resetting = resetting
        self.insecure = insecure
        self.refusing = refusing
    }

    init?(line: some StringProtocol) {
        let ports = line.split(separator: " ").compactMap { UInt16($0) }
        guard ports.count == 5 else { return nil }
        self.init(plain: ports[0], secure: ports[1], resetting: ports[2], insecure: ports[3], refusing: ports[4])
    }
}
