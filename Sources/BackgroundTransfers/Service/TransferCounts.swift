/// How many transfers of a session are in some states. Kept up to date, since no command may cost a look at all
/// transfers.
struct TransferCounts: Equatable {
    /// Those that run, wait, or are being ended.
    var atWork = 0
    /// Those whose end was not delivered completely.
    var ended = 0
    /// Those that wait for the program.
    var needingProgram = 0
    /// Those at work that run only at good times.
    var discretionary = 0

    static func - (left: TransferCounts, right: TransferCounts) -> TransferCounts {
        TransferCounts(
            atWork: left.atWork - right.atWork, ended: left.ended - right.ended,
            needingProgram: left.needingProgram - right.needingProgram,
            discretionary: left.discretionary - right.discretionary)
    }

    static func += (left: inout TransferCounts, right: TransferCounts) {
        left.atWork += right.atWork
        left.ended += right.ended
        left.needingProgram += right.needingProgram
        left.discretionary += right.discretionary
    }
}
