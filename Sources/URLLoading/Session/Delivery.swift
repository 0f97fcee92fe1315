/// Something with calls to make for a session: a task with events, or a block.
protocol Delivery: AnyObject, Sendable {
    /// Fixes what the next `deliver(.sealed)` may tell: what is there now, and nothing that comes later.
    func seal()

    /// Makes calls. True when there are more to make, which need another turn.
    func deliver(_ extent: DeliveryExtent) -> Bool
}

/// How much a delivery tells.
enum DeliveryExtent {
    /// What was there when its operation was enqueued.
    case sealed
    /// Whatever is there.
    case all
}
