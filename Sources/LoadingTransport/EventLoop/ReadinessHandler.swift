/// Handles the readiness of a descriptor. Called on the loop.
package protocol ReadinessHandler: AnyObject {
    func becameReady(_ readiness: Readiness)
}
