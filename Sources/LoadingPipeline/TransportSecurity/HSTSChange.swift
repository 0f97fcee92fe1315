package import LoadingSemantics

/// What a copy of the hosts of an `HSTSStore` has to follow.
package enum HSTSChange: Sendable, Equatable {
    /// In place of what was known of the host.
    case put(HSTSRecord)
    /// The hosts are not known any more.
    case remove([String])
    case removeAll
}

extension HSTSChange {
    /// The changes that make up an outcome, in order.
    static func changes(of outcome: HSTSOutcome) -> [HSTSChange] {
        switch outcome {
        case .stored(let record, let evicted): evicted.isEmpty ? [.put(record)] : [.remove(evicted), .put(record)]
        case .removed(let host): [.remove([host])]
        case .refreshed, .nothing, .refused: []
        }
    }
}
