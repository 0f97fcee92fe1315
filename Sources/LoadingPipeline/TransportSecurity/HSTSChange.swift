package import LoadingSemantics

/// A change of an `HSTSStore` that a copy of its hosts has to apply.
package enum HSTSChange: Sendable, Equatable {
    /// The record replaces an earlier one of the host.
    case put(HSTSRecord)
    /// The hosts have no record any more.
    case remove([String])
    case removeAll
}

extension HSTSChange {
    /// The changes of an outcome, in order.
    static func changes(of outcome: HSTSOutcome) -> [HSTSChange] {
        switch outcome {
        case .stored(let record, let evicted): evicted.isEmpty ? [.put(record)] : [.remove(evicted), .put(record)]
        case .removed(let host): [.remove([host])]
        case .refreshed, .nothing, .refused: []
        }
    }
}
