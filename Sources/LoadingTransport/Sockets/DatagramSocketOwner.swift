/// Told on the loop whenever datagrams may have come or may be sent again.
package protocol DatagramSocketOwner: AnyObject {
    func socketBecameReady(_ socket: DatagramSocket)
}
