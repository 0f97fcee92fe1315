import Foundation
import TestSupport
import Testing

private typealias F = HTTP2Frames

/// An endless sequence of frames of an HTTP/2 server, after the first request of a connection (stream 1).
struct HostileFlood: Sendable, CustomTestStringConvertible {
    let name: String
    /// The frames before the flood.
    let opening: [UInt8]
    /// The repeated frames.
    let bytes: [UInt8]
    /// The expected callbacks, without informational responses and data.
    let recorded: [Call]
    /// The library's reason in the load's error.
    let reason: String
    /// The number of bytes, including kernel buffers, before which the client must close the connection.
    let most: Int

    var testDescription: String { name }

    private static let lost: [Call] = [.completed(1, .cannotParseResponse)]
    private static let lostBody: [Call] = [.response(1, 200)] + lost

    private init(
        _ name: String, _ frame: [UInt8], after opening: [UInt8] = [], recorded: [Call] = lost,
        reason: String = "flood(LoadingProtocols.HTTP2Flood.", most: Int = 16 << 20
    ) {
        self.name = name
        self.opening = opening
        // As much as a server writes at a time.
        bytes = Array(repeatElement(frame, count: max(65_536 / frame.count, 1)).joined())
        self.recorded = recorded
        self.reason = reason
        self.most = most
    }

    private static let blockReason = "flood(LoadingProtocols.HTTP2Flood.headerBlock)"
    private static let well = F.block([(":status", "200")])
    private static let page = [UInt8](repeating: 0x61, count: 16_384)
    /// Ten thousand useless frames of 16 KiB, plus buffered bytes: where the client's thread has to wait, the kernel's
    /// buffers grow to some 40 MiB.
    private static let pages = 256 << 20

    /// Frames without progress of a request: limited to ten thousand.
    static let idle: [Self] = [
        Self("pings", F.ping()),
        Self("answers to pings that were not sent", F.ping(answer: true)),
        Self("settings", F.settings()),
        Self("settings with values", F.settings([(1, 4_096), (3, 100), (4, 65_535), (4, 1 << 20), (5, 16_384)])),
        Self("windows that open", F.windowUpdate(0, 1)),
        Self("a stream's window that opens", F.windowUpdate(1, 1)),
        Self("priorities", F.frame(2, stream: 1, [0, 0, 0, 3, 1])),
        Self("priorities of streams that were not opened", F.frame(2, stream: 0x7FFF_FFFF, [0, 0, 0, 3, 1])),
        Self("GOAWAY frames", F.goAway(0x7FFF_FFFF)),
        Self("unknown frames", F.frame(0x77, stream: 1)),
        Self("long unknown frames", F.frame(0x77, stream: 1, page), most: pages),
        Self("places elsewhere", F.frame(0xA, [0, 0])),
        Self("reports of progress", F.head(1, 104)),
        Self(
            "reports of progress with fields for the table",
            F.headers(1, F.block([(":status", "104")]) + F.indexedField("a", String(repeating: "b", count: 3_000))),
            reason: "There are too many interim responses", most: 64 << 20),
        Self("empty data", F.data(1, ""), after: F.head(1, 200), recorded: lostBody),
        Self("padding", F.frame(0, flags: 8, stream: 1, [0]), after: F.head(1, 200), recorded: lostBody),
        Self(
            "much padding", F.frame(0, flags: 8, stream: 1, [255] + [UInt8](repeating: 0, count: 255)),
            after: F.head(1, 200),
            recorded: lostBody),
    ]

    /// Floods after the load has ended: the connection must be closed too.
    static let after: [Self] = [
        Self("resets", F.reset(1, 8), recorded: [.completed(1, .networkConnectionLost)], reason: "reset"),
        Self("interim responses", F.head(1, 103), reason: "There are too many interim responses"),
        Self("heads", F.head(1, 200), recorded: lostBody, reason: ""),
        Self(
            "data of a stream that is no longer read", F.data(1, page), after: F.headers(1, F.block([("a", "b")])),
            reason: "", most: pages),
        Self(
            "ends of a stream that has ended", F.data(1, "", ends: true), after: F.head(1, 200),
            recorded: [.response(1, 200), .completed(1, nil)], reason: ""),
    ]

    /// Header blocks.
    static let blocks: [Self] = [
        Self(
            "fields that go on with nothing", F.continuation(1, [], whole: false),
            after: F.headers(1, well, whole: false), reason: blockReason),
        Self(
            "fields that go on", F.continuation(1, F.field([0x61], page.suffix(16_000)), whole: false),
            after: F.headers(1, well, whole: false), reason: blockReason),
        Self(
            "small fields that go on",
            F.continuation(1, Array(repeatElement([0x90], count: 1_000).joined()), whole: false),
            after: F.headers(1, well, whole: false), reason: "flood(LoadingProtocols.HTTP2Flood"),
        Self(
            "one entry of the table, again and again",
            F.continuation(1, Array(repeating: 0x80 | 62, count: 16_000), whole: false),
            after: F.headers(1, well + F.indexedField("a", String(repeating: "b", count: 4_000)), whole: false),
            reason: "flood(LoadingProtocols.HTTP2Flood.headerList)"),
        Self(
            "trailers that go on", F.continuation(1, F.field([0x61], page.suffix(16_000)), whole: false),
            after: F.head(1, 200) + F.headers(1, [], ends: true, whole: false), recorded: lostBody, reason: blockReason),
        Self("promises", F.frame(5, flags: 4, stream: 1, F.octets(2) + well), reason: "violation"),
    ]

    static var all: [Self] { idle + after + blocks }
    /// Frames that require an answer. They end as floods, or because the answers cannot be sent.
    static var asking: [Self] {
        [("pings", F.ping()), ("settings", F.settings())].map {
            Self($0, $1, reason: "flood(LoadingProtocols.HTTP2Flood.")
        }
    }
}
