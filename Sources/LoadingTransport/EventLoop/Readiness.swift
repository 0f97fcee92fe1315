internal import CLoadingLinux

/// The operations that are possible on a descriptor.
package struct Readiness: OptionSet, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Not the one of `SetAlgebra`, which in a debug build goes through four others.
    package func contains(_ member: Self) -> Bool { rawValue & member.rawValue == member.rawValue }

    package static let readable = Readiness(rawValue: 1)
    package static let writable = Readiness(rawValue: 2)
    /// The peer has closed its side or the connection is broken: a read reports which.
    package static let hangup = Readiness(rawValue: 4)

    @inline(__always)
    init(epoll bits: UInt32) {
        var value: UInt8 = 0
        if bits & cll_readable_bits() != 0 { value |= 1 }
        if bits & cll_writable_bits() != 0 { value |= 2 }
        if bits & cll_hangup_bits() != 0 { value |= 4 }
        rawValue = value
    }
}

/// Handles the readiness of a descriptor. Called on the loop.
package protocol ReadinessHandler: AnyObject {
    func becameReady(_ readiness: Readiness)
}
