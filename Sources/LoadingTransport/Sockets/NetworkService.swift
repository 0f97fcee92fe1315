/// The requirements of a connection for the network.
package struct NetworkService: Sendable, Hashable {
    /// The DSCP (RFC 2474): six bits, 0 for the default.
    package var trafficClass: UInt8
    /// Whether to use Multipath TCP (RFC 8684), if kernel and server support it.
    package var isMultipath: Bool
    /// Whether names must be validated by DNSSEC, which is not supported (CONN-20).
    package var requiresDNSSEC: Bool

    package static let ordinary = NetworkService()

    package init(trafficClass: UInt8 = 0, isMultipath: Bool = false, requiresDNSSEC: Bool = false) {
        self.trafficClass = trafficClass & 0x3F
        self.isMultipath = isMultipath
        self.requiresDNSSEC = requiresDNSSEC
    }
}
