internal import CLoadingLinux

/// The process at the other end of a UNIX socket.
package enum SocketPeer {
    /// The effective user id that the peer had when it connected or listened, as the kernel has it; nil if it is not known.
    package static func userID(of descriptor: Int32) -> UInt32? {
        var user: UInt32 = 0
        return cll_peer_user(descriptor, &user) == 0 ? user : nil
    }
}
