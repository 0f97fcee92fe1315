/// What the network is told of how to treat a connection.
package struct NetworkService: Sendable, Hashable {
    /// The class that routers go by (RFC 2474): six bits, 0 for nothing in particular.
    package var trafficClass: UInt8
    /// Whether the connection may use several ways at once (RFC 8684), where kernel and server can do that.
    package var isMultipath: Bool

    package static let ordinary = NetworkService()

    package init(trafficClass: UInt8 = 0, isMultipath: Bool = false) {
        self.trafficClass = trafficClass & 0x3F
        self.isMultipath = isMultipath
    }
}
