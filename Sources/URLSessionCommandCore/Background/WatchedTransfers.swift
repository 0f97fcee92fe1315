package import BackgroundTransfers

/// What `background watch` shows: all transfers, as the service reports them, with their rates.
package struct WatchedTransfers: Sendable {
    private var transfers: [TransferReference: ListedTransfer] = [:]
    private var meters: [TransferReference: RateMeter] = [:]

    package init() {}

    /// Active transfers first.
    package func sorted(now: Double) -> [ListedTransfer] {
        transfers.values.map { ($0, TransferStateText($0.status, now: now).rank) }
            .sorted { left, right in
                let (a, b) = (left.0.reference, right.0.reference)
                return (left.1, a.application, a.session, a.task) < (right.1, b.application, b.session, b.task)
            }.map(\.0)
    }

    package var rates: [TransferReference: Double] { meters.mapValues(\.bytesPerSecond) }

    /// Returns what a log has to say about it: the transfer if its state is another one.
    ///
    /// - Parameter time: Seconds since the start.
    @discardableResult
    package mutating func apply(_ notice: ServiceNotice, time: Double) -> [ListedTransfer] {
        switch notice {
        case .transfers(let list): return list.filter { set($0, time) }
        case .changed(let transfer): return set(transfer, time) ? [transfer] : []
        case .removed(let reference):
            transfers[reference] = nil
            meters[reference] = nil
            return []
        default: return []
        }
    }

    private mutating func set(_ transfer: ListedTransfer, _ time: Double) -> Bool {
        let before = transfers.updateValue(transfer, forKey: transfer.reference)
        if transfer.status != .running {
            meters[transfer.reference] = nil
        } else if meters[transfer.reference] == nil || transfer.amount.count < before?.amount.count ?? 0 {
            // Progress may go back (S-96).
            meters[transfer.reference] = RateMeter(count: transfer.amount.count, time: time)
        }
        return before?.status != transfer.status
    }

    /// Measures the rates, twice a second.
    package mutating func tick(time: Double) {
        for (reference, transfer) in transfers { meters[reference]?.add(count: transfer.amount.count, time: time) }
    }

    /// A picture of at most that many lines.
    package func picture(_ table: TransferTable, rows: Int, now: Double) -> [String] {
        let all = sorted(now: now)
        if all.isEmpty { return ["No background transfers."] }
        let shown = all.count + 1 <= rows ? all.count : max(1, rows - 2)
        let lines = table.lines(Array(all.prefix(shown)), rates: rates, now: now)
        return shown == all.count ? lines : lines + ["and \(all.count - shown) more"]
    }
}
