package import BackgroundTransfers
import LoadingPipeline

/// What the service knows of one transfer, for `background log`.
package enum TransferDetails {
    /// - Parameter history: The last events, the oldest first.
    package static func text(
        _ transfer: ListedTransfer, history: [TransferEvent] = [], now: Double, isUTF8: Bool
    ) -> String {
        let state = TransferStateText(transfer.status, now: now)
        let progress = transfer.progress
        func clean(_ text: String) -> String { TextSanitizer.clean(text, isUTF8: isUTF8) }
        func amount(_ count: Int64, _ expected: Int64) -> String {
            Quantity.bytes(count) + (expected >= 0 ? " of \(Quantity.bytes(expected))" : "")
        }
        var lines = [
            clean(TransferSelection.name(transfer.reference)),
            "  \(transfer.isUpload ? "Upload to " : "Download  ") \(clean(transfer.shownURL))",
        ]
        if let description = transfer.taskDescription { lines.append("  Name       \(clean(description))") }
        lines.append("  State      \(state.short)")
        if let code = state.code { lines.append("  Error      \(clean(TransferStateText.words(for: code)))") }
        lines.append("  Received   \(amount(progress.received, progress.toReceive))")
        lines.append("  Sent       \(amount(progress.sent, progress.toSend))")
        if !history.isEmpty { lines.append("  History") }
        for event in history {
            let age = Quantity.clock(max(0, now - event.time)) + " ago"
            lines.append("    \(age.rightAligned(14))  \(clean(words(for: event.kind)))")
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func words(for kind: TransferEvent.Kind) -> String {
        switch kind {
        case .resumed: "resumed"
        case .suspended: "suspended"
        case .began(offset: 0): "an attempt begins"
        case .began(let offset): "an attempt goes on after \(Quantity.bytes(offset))"
        case .failed(let code): "failed, and is tried again: \(TransferStateText.words(for: code)) (\(code))"
        case .ended(nil): "done"
        case .ended(let code?): "ended: \(TransferStateText.words(for: code)) (\(code))"
        }
    }
}
