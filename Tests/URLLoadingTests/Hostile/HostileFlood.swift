import Foundation
import TestSupport
import Testing

private typealias F = HTTP2Frames

/// What some server of HTTP/2 might send without end, after the first request of a connection, which is on stream 1.
struct HostileFlood: Sendable, CustomTestStringConvertible {
    let name: String
    /// What comes once before.
    let opening: [UInt8]
    /// What comes again and again.
    let bytes: [UInt8]
    /// Of the load; interim responses and pieces of a body are left out.
    let recorded: [Call]
    /// In the words of the library: what the load ended with.
    let reason: String
    /// Bytes after which the client has to have closed, the kernels' buffers among them.
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
    /// Ten thousand frames of 16 KiB that say nothing, and what is on its way.
    private static let pages = 192 << 20

    /// Frames that bring no request further: ten thousand of them are enough.
    static let idle: [Self] = [
        Self("pings", F.ping()),
        Self("answers to pings that nobody sent", F.ping(answer: true)),
        Self("settings", F.settings()),
        Self("settings with values", F.settings([(1, 4_096), (3, 100), (4, 65_535), (4, 1 << 20), (5, 16_384)])),
        Self("windows that open", F.windowUpdate(0, 1)),
        Self("a stream's window that opens", F.windowUpdate(1, 1)),
        Self("priorities", F.frame(2, stream: 1, [0, 0, 0, 3, 1])),
        Self("priorities of streams that nobody opened", F.frame(2, stream: 0x7FFF_FFFF, [0, 0, 0, 3, 1])),
        Self("goodbyes", F.goAway(0x7FFF_FFFF)),
        Self("frames that nobody knows", F.frame(0x77, stream: 1)),
        Self("long frames that nobody knows", F.frame(0x77, stream: 1, page), most: pages),
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

    /// What goes on after the load has ended by what came first: the connection has to end too.
    static let after: [Self] = [
        Self("resets", F.reset(1, 8), recorded: [.completed(1, .networkConnectionLost)], reason: "reset"),
        Self("interim responses", F.head(1, 103), reason: "There are too many interim responses"),
        Self("heads", F.head(1, 200), recorded: lostBody, reason: ""),
        Self(
            "data of a stream that nobody reads any more", F.data(1, page), after: F.headers(1, F.block([("a", "b")])),
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
    /// Those that want to be answered. They end as floods, or for the answers that cannot be sent.
    static var asking: [Self] {
        [("pings", F.ping()), ("settings", F.settings())].map {
            Self($0, $1, reason: "flood(LoadingProtocols.HTTP2Flood.")
        }
    }
}
