internal import LoadingStorage

/// The part of a store that is in memory: all of it, since what lasts is read once and then followed.
protocol RecordMemory: Sendable {
    associatedtype Record: ArchivedRecord

    /// All in it that lasts.
    var lasting: [Record] { get }

    /// Has these in place of all in it that lasts.
    ///
    /// - Returns: What the file they came from is to follow: which of them are over, or too many.
    mutating func replaceLasting(with records: [Record]) -> [RecordChange<Record>]
}
