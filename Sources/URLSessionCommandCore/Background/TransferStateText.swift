package import BackgroundTransfers
import Foundation
import LoadingPipeline
import URLLoading

/// The state of a background transfer, for people and for programs.
package struct TransferStateText: Equatable, Sendable {
    /// In a table.
    package let short: String
    package let color: TextStyle.Color?
    /// In JSON.
    package let key: String
    /// The value of `NSURLError…` that the last attempt, or the transfer, ended with.
    package let code: Int?
    /// What it waits for, in seconds since 1970.
    package let date: Double?
    /// Active ones come first in a list that has no room for all.
    package let rank: Int

    package init(_ status: ListedTransfer.Status, now: Double) {
        var (code, date): (Int?, Double?) = (nil, nil)
        func time(until date: Double) -> String { Quantity.clock(max(0, date - now)) }
        switch status {
        case .running: (short, color, key, rank) = ("running", .green, "running", 0)
        case .queued: (short, color, key, rank) = ("queued", nil, "queued", 2)
        case .suspended: (short, color, key, rank) = ("suspended", .dim, "suspended", 3)
        case .waitingUntil(let start):
            date = start
            (short, color, key, rank) = ("starts in \(time(until: start))", nil, "waitingUntil", 2)
        case .waitingForNetwork: (short, color, key, rank) = ("no network", .yellow, "waitingForNetwork", 1)
        case .waitingForPower: (short, color, key, rank) = ("on battery", .yellow, "waitingForPower", 1)
        case .waitingForUnmeteredNetwork:
            (short, color, key, rank) = ("metered network", .yellow, "waitingForUnmeteredNetwork", 1)
        case .waitingForApplication:
            (short, color, key, rank) = ("needs its program", .yellow, "waitingForApplication", 1)
        case .retrying(let next, let failure):
            (code, date) = (failure, next)
            (short, color, key, rank) = ("retries in \(time(until: next)) (\(failure))", .yellow, "retrying", 1)
        case .finished: (short, color, key, rank) = ("done", .boldGreen, "finished", 4)
        case .failed(let failure):
            code = failure
            (short, color, key, rank) = ("failed (\(failure))", .boldRed, "failed", 4)
        }
        self.code = code
        self.date = date
    }

    /// The library's words for a code.
    static func words(for code: Int) -> String {
        URLError.Code(rawValue: code).map { URLError($0).localizedDescription } ?? "error \(code)"
    }
}

extension ListedTransfer {
    /// The bytes of the body that a person waits for, and how many there are; −1 if unknown.
    var amount: (count: Int64, expected: Int64) {
        isUpload && progress.received == 0
            ? (progress.sent, progress.toSend) : (progress.received, progress.toReceive)
    }
}
