import BackgroundTransfers
import Foundation
import Glibc
import LoadingPipeline
import TestSupport
import Testing

@testable import URLSessionCommandCore

/// The conversation of the command with the background service.
struct ServiceConversationTests {
    // BG-21: also an end that arrives together with notices
    @Test("the end is reported each time") func end() throws {
        var ends: [Int32] = [-1, -1]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0, &ends) == 0)
        var bytes = Data()
        MessageFrames.append(try TransferMessage(ServiceNotice.transfers([])).encoded(), to: &bytes)
        try #require(bytes.withUnsafeBytes { write(ends[1], $0.baseAddress, $0.count) } == bytes.count)
        close(ends[1])
        let service = ServiceConversation(ends[0])
        defer { service.close() }
        let soon = Date(timeIntervalSinceNow: 10)
        var events: [ServiceConversation.Event] = []
        while events.last != .ended(.closed) {
            let new = service.next(until: soon)
            try #require(!new.isEmpty)
            events += new
        }
        #expect(events == [.notice(.transfers([])), .ended(.closed)])
        #expect(service.next(until: soon) == [.ended(.closed)])
    }
}
