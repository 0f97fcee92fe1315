internal import LoadingStorage

/// The in-memory part of a store. It contains all records: the persistent ones are read once, and then kept up to date.
protocol RecordMemory: Sendable {
    associatedtype Record: ArchivedRecord

    /// All persistent records.
    ///
    /// - Parameter now: Seconds since 1970. Records that have expired by then are not included.
    func persistent(at now: Double) -> [Record]

    /// Replaces all persistent records.
    ///
    /// - Returns: Changes for the file that they came from: removals of expired and excess records.
    mutating func replaceLasting(with records: [Record], at now: Double) -> [RecordChange<Record>]
}
