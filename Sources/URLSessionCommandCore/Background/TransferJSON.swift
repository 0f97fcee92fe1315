package import BackgroundTransfers
import Foundation
import LoadingPipeline

/// Background transfers as JSON, for scripts.
package enum TransferJSON {
    private struct Item: Encodable {
        var id: String
        var application: String
        var session: String
        var task: Int
        var kind: String
        var url: String
        var description: String?
        var state: String
        var code: Int?
        var date: Double?
        var received: Int64
        var expectedToReceive: Int64?
        var sent: Int64
        var expectedToSend: Int64?
        var bytesPerSecond: Int64?
    }

    /// An array with a final line feed. Without its optional members where nothing is known.
    package static func text(_ transfers: [ListedTransfer], now: Double) -> String {
        let items = transfers.map { transfer in
            let state = TransferStateText(transfer.status, now: now)
            let (progress, reference) = (transfer.progress, transfer.reference)
            return Item(
                id: TransferSelection.name(reference), application: reference.application,
                session: reference.session, task: reference.task, kind: transfer.isUpload ? "upload" : "download",
                url: SecretText.hiding(inURL: transfer.url), description: transfer.taskDescription, state: state.key,
                code: state.code,
                date: state.date, received: progress.received,
                expectedToReceive: progress.toReceive < 0 ? nil : progress.toReceive, sent: progress.sent,
                expectedToSend: progress.toSend < 0 ? nil : progress.toSend,
                bytesPerSecond: transfer.bytesPerSecond.map { Int64(min(max($0, 0), 1e15)) })
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        // Only numbers that are not finite cannot be encoded. A date could be one.
        guard let data = try? encoder.encode(items) else { return "[]\n" }
        return String(decoding: data, as: UTF8.self) + "\n"
    }
}
