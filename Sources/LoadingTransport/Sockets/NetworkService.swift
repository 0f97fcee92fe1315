/// What a connection wants of the network.
package struct NetworkService: Sendable, Hashable {
    /// The class that routers go by (RFC 2474): six bits, 0 for nothing in particular.
    package var trafficClass: UInt8
    /// Whether the connection may use several ways at once (RFC 8684), where kernel and server can do that.
    package var isMultipath: Bool
    /// Whether the addresses of names have to be proved by DNSSEC, which nobody here can do (CONN-20).
    package var requiresDNSSEC: Bool

    package static let ordinary = NetworkService()

    package init(trafficClass: UInt8 = 0, isMultipath: Bool = false, requiresDNSSEC: Bool = false) {
        self.trafficClass = trafficClass & 0x3F
        self.isMultipath = isMultipath
        self.requiresDNSSEC = requiresDNSSEC
    }
}
