/// A source of callbacks of a session: a task with events, or a block.
protocol Delivery: AnyObject, Sendable {
    /// Fixes the events for the next `deliver(.sealed)`: the current ones, without later ones.
    func seal()

    /// Makes callbacks. True if there are more, which need another turn.
    func deliver(_ extent: DeliveryExtent) -> Bool
}

/// Which events a delivery includes.
enum DeliveryExtent {
    /// The events before its operation was enqueued.
    case sealed
    /// All current events.
    case all
}
