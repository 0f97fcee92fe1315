import Testing

/// An attack of `HostileServer`, and the expected result.
struct HTTP3Attack: Sendable, CustomTestStringConvertible {
    /// The request path that selects the attack.
    let path: String
    /// The text of the response, or the code of the error.
    let end: String
    /// The error with which the client closes the connection; nil if it stays open.
    let code: String?
    /// On how many connections the request is sent.
    var connections = 1

    var testDescription: String { path }

    // MARK: Connection errors

    /// With a code of HTTP/3's (RFC 9114 §8.1, RFC 9204 §6).
    private static func broken(_ code: Int, _ paths: String...) -> [Self] {
        paths.map { Self(path: $0, end: "-1017", code: "http 0x\(String(code, radix: 16))") }
    }

    /// With a code of QUIC's (RFC 9000 §20.1).
    private static func violated(_ code: Int, _ paths: String...) -> [Self] {
        paths.map { Self(path: $0, end: "-1017", code: "quic 0x\(String(code, radix: 16))") }
    }

    static let http: [Self] = [
        broken(0x103, "/second-control", "/second-encoder", "/push"),
        broken(0x104, "/closed-control", "/reset-control", "/stopped-control", "/stopped-decoder"),
        broken(
            0x105, "/data-before-head", "/settings-on-request", "/goaway-on-request", "/promise", "/cancelled-push",
            "/frame-of-http2", "/settings-twice", "/data-on-control", "/head-on-control",
            "/http2-on-control", "/push-limit"),
        broken(0x106, "/cut-frame"),
        broken(0x108, "/goaway-for-no-request", "/goaway-rising"),
        broken(0x200, "/bad-section", "/missing-entry"),
        broken(0x201, "/huge-table", "/entry-without-room", "/copy-of-nothing"),
        broken(0x202, "/acknowledged-nothing", "/counted-nothing"),
    ].flatMap(\.self)

    static let quic: [Self] =
        [
            violated(0x3, "/beyond-window", "/beyond-all-windows"),
            violated(0x4, "/servers-request", "/one-stream-more"),
            violated(
                0x5, "/own-stream", "/unopened-stream", "/stop-servers-stream",
                "/stop-unopened-stream", "/window-of-servers-stream"),
            violated(0x6, "/beyond-end", "/two-ends", "/reset-before-data"),
            violated(
                0x7, "/unknown-frame", "/cut-stream-frame", "/too-many-streams", "/id-retired-by-itself",
                "/id-without-length", "/id-of-21-octets", "/empty-token"),
            violated(0x9, "/ids-beyond-limit"),
            violated(
                0xA, "/id-again", "/unknown-id-retired", "/message", "/acknowledged-unsent", "/reserved-bits",
                "/reset-own-stream"),
            violated(0xD, "/far-handshake"),
        ].flatMap(\.self)
        // Not an HTTP error: the request is repeated, over QUIC because there is no server over TCP.
        + ["/garbled-handshake", "/key-update", "/key-update-asked"].map {
            Self(path: $0, end: "-1005", code: "quic 0x10a", connections: 3)
        }

    // MARK: Floods

    static let floods =
        broken(
            0x107, "/long-value", "/pings", "/many-pings", "/much-padding", "/windows", "/streams",
            "/windows-of-request",
            "/blocks", "/challenges", "/answers", "/tokens", "/stops", "/resets-of-streams", "/same-data",
            "/tickets", "/long-message", "/acknowledgements", "/empty-data", "/unknown-on-request", "/long-unknown",
            "/progress",
            "/settings-unknown", "/goaways", "/insertions", "/copies", "/capacities", "/bomb", "/huge-section",
            "/endless-section")
        // ngtcp2 bounds these itself.
        + violated(0x9, "/ids") + violated(0x1, "/gaps", "/handshake-gaps")

    /// A flood after the load has ended: the connection must be closed too.
    static let after = [Self(path: "/reset-stream", end: "-1005", code: "http 0x107")]

    // MARK: Response errors

    static let responses: [Self] =
        [
            "/no-status", "/two-statuses", "/late-status", "/capitals", "/field-of-connection", "/field-of-request",
            "/length-that-is-none", "/too-long", "/long-section", "/many-fields", "/interim", "/nothing",
            "/no-final-response", "/data-behind-trailers",
        ].map { Self(path: $0, end: "-1017", code: nil) }
        // CONN-27
        + ["/too-short", "/reset"].map { Self(path: $0, end: "-1005", code: nil) }

    // MARK: Harmless

    static let harmless: [Self] = [
        "/blocked", "/answer-to-no-challenge", "/token", "/done-again", "/padding", "/stop-request",
        "/windows-that-shrink", "/unknown-stream", "/unknown-stream-reset", "/late-first", "/unknown-frames",
        "/goaway", "/table", "/new-streams", "/junk", "/replays",
    ].map { Self(path: $0, end: "well", code: nil) }
}
