/// What somebody waits for who goes a way, and since when, by the loop's clock.
package struct PendingPhase: Sendable {
    package let step: ConnectPhase
    package let since: Int64
}
