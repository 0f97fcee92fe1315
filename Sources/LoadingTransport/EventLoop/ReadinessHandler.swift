/// Something with a descriptor on a loop. Called on the loop.
package protocol ReadinessHandler: AnyObject {
    func becameReady(_ readiness: Readiness)
}
