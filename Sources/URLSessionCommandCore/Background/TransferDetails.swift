package import BackgroundTransfers
import LoadingPipeline

/// What the service knows of one transfer, for `background log`.
package enum TransferDetails {
    package static func text(_ transfer: ListedTransfer, now: Double, isUTF8: Bool) -> String {
        let state = TransferStateText(transfer.status, now: now)
        let progress = transfer.progress
        func clean(_ text: String) -> String { TextSanitizer.clean(text, isUTF8: isUTF8) }
        func amount(_ count: Int64, _ expected: Int64) -> String {
            Quantity.bytes(count) + (expected >= 0 ? " of \(Quantity.bytes(expected))" : "")
        }
        var lines = [
            clean(TransferSelection.name(transfer.reference)),
            "  \(transfer.isUpload ? "Upload to " : "Download  ") \(clean(transfer.url))",
        ]
        if let description = transfer.taskDescription { lines.append("  Name       \(clean(description))") }
        lines.append("  State      \(state.short)")
        if let code = state.code { lines.append("  Error      \(clean(TransferStateText.words(for: code)))") }
        lines.append("  Received   \(amount(progress.received, progress.toReceive))")
        lines.append("  Sent       \(amount(progress.sent, progress.toSend))")
        return lines.joined(separator: "\n") + "\n"
    }
}
