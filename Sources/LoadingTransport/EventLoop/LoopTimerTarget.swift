/// Called on the loop when a timer's deadline has come. The timer is no longer armed then.
package protocol LoopTimerTarget: AnyObject {
    func timerFired(_ timer: LoopTimer)
}
