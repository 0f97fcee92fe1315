/// What a client is known by, in DER.
package struct HTTP3Identity: Sendable {
    /// Its certificate, and behind it those between that and a root.
    package let chain: [[UInt8]]
    package let key: [UInt8]
    /// The certificate of the server that it is shown to. A handshake with another fails. Empty: with none.
    package let reader: [UInt8]

    package init(chain: [[UInt8]], key: [UInt8], reader: [UInt8] = []) {
        self.chain = chain
        self.key = key
        self.reader = reader
    }
}
