/// Something with calls to make for a session: a task with events, or a block.
protocol Delivery: AnyObject, Sendable {
    /// Makes the calls that are due now. True when more have come meanwhile.
    func deliver() -> Bool
}
