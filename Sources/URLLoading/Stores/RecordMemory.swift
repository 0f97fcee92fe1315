internal import LoadingStorage

/// The part of a store that is in memory: all of it, since what lasts is read once and then followed.
protocol RecordMemory: Sendable {
    associatedtype Record: ArchivedRecord

    /// All in it that lasts.
    ///
    /// - Parameter now: Seconds since 1970; what has ended by then is not in it.
    func persistent(at now: Double) -> [Record]

    /// Has these in place of all in it that lasts.
    ///
    /// - Returns: What the file they came from is to follow: which of them are over, or too many.
    mutating func replaceLasting(with records: [Record], at now: Double) -> [RecordChange<Record>]
}
