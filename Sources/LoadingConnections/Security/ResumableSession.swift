/// What a server is willing to resume.
protocol ResumableSession {
    /// Whether it should be offered once only, lest connections can be linked (RFC 8446 appendix C.4).
    var isSingleUse: Bool { get }
    /// Seconds since 1970.
    var expiry: Int64 { get }
}
