/// The two ends of a connection's path, as `struct sockaddr_in` or `struct sockaddr_in6`.
package struct HTTP3Endpoints: Sendable, Hashable {
    package var local: [UInt8]
    package var remote: [UInt8]

    package init(local: [UInt8], remote: [UInt8]) {
        self.local = local
        self.remote = remote
    }
}
