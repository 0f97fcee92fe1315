import Foundation
import LoadingPipeline
import Testing

@testable import BackgroundTransfers

/// Notices whose contents come from programs and servers, and do not fit in a message.
struct LongNoticeTests {
    private func listed(_ task: Int, url: Int = 20, description: Int? = nil) -> ListedTransfer {
        ListedTransfer(
            reference: TransferReference(application: "app", session: "s", task: task),
            url: String(repeating: "\u{1}", count: url), isUpload: false,
            taskDescription: description.map { String(repeating: "\"", count: $0) }, status: .queued,
            progress: TransferProgress())
    }

    // BG-19
    @Test("a list is divided by its size", arguments: [(20, 0), (4096, 0), (4096, 4096), (100_000, 50_000)])
    func lists(url: Int, description: Int) throws {
        let all = (1...3000).map {
            listed($0, url: $0 % 7 == 0 ? url : 30, description: $0 % 7 == 0 ? description : nil)
        }
        let parts = TransferService.parts(of: all)
        #expect(parts.flatMap(\.self) == all)
        for part in parts {
            let message = try TransferMessage(ServiceNotice.transfers(part)).encoded()
            #expect(message.count <= ServiceProtocol.largestMessage)
        }
        #expect((parts.count == 1) == (url < 100))
        #expect(TransferService.parts(of: []) == [])
    }

    // BG-6
    @Test("the fields of a response, and metrics, are left out of a notice that is too long") func shortened() throws {
        var head = try JSONDecoder().decode(
            TransferHead.self,
            from: Data(#"{"url": "http://a/", "status": 200, "fields": [{"name": "A", "value": "b"}]}"#.utf8))
        let description = TransferDescription(
            task: 1, kind: .download, request: TransferRequest(url: "http://a/", folder: "/"))
        let state = TransferState(description: description, isSuspended: false, head: head)
        let metrics = try JSONDecoder().decode(
            TransferMetrics.self, from: Data(#"{"created": 1, "createdWall": 2, "events": []}"#.utf8))
        let end = TransferEnd(
            order: 1, head: head, progress: TransferProgress(), outcome: .file("/a"),
            metrics: metrics)
        let response = TransferReport.Event.response(head, expectedLength: 7, resumedOffset: 1)
        let notices: [ServiceNotice] = [
            .task(state), .ended(task: 1, end), .report(task: 1, TransferReport(number: 3, event: response)), .replayed,
        ]
        head.fields = []
        var shortState = state
        shortState.head = head
        var shortEnd = end
        (shortEnd.head, shortEnd.metrics) = (head, nil)
        let short = TransferReport.Event.response(head, expectedLength: 7, resumedOffset: 1)
        #expect(
            notices.map(\.shortened) == [
                .task(shortState), .ended(task: 1, shortEnd), .report(task: 1, TransferReport(number: 3, event: short)),
                .replayed,
            ])
    }
}
