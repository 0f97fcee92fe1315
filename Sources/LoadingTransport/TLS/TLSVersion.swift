/// A version of TLS by the number it has on the wire.
package struct TLSVersion: RawRepresentable, Hashable, Comparable, Sendable {
    package let rawValue: UInt16

    package init(rawValue: UInt16) { self.rawValue = rawValue }

    package static let tls10 = TLSVersion(rawValue: 0x0301)
    package static let tls11 = TLSVersion(rawValue: 0x0302)
    package static let tls12 = TLSVersion(rawValue: 0x0303)
    package static let tls13 = TLSVersion(rawValue: 0x0304)

    package static func < (left: TLSVersion, right: TLSVersion) -> Bool { left.rawValue < right.rawValue }
}
