import Testing

@testable import LoadingConnections

struct AnnouncedIdleTimeTests {
    // CONN-19: less a second for what is on its way
    @Test(
        "what a server says about idle connections, in seconds",
        arguments: [
            ("timeout=5, max=100", 4), ("max=100,timeout=2", 1), (" TimeOut = 30 ", 29), ("timeout=1", 0),
            ("timeout=0", 0),
            ("timeout=1000000", 999_999), ("timeout=3, timeout=8", 7), ("timeout=1000001", nil), ("timeout=-1", nil),
            ("timeout=x", nil), ("timeout", nil), ("timeout=", nil), ("max=100", nil), ("", nil), ("xtimeout=5", nil),
            ("timeout=99999999999999999999", nil),
        ] as [(String, Int64?)])
    func announcements(text: String, seconds: Int64?) {
        #expect(HTTP1Connection.idleLifetime(announced: text) == seconds.map { $0 * 1_000_000_000 })
    }
}
