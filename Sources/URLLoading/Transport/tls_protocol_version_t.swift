/// A version of TLS or DTLS, with its number on the wire.
@frozen public enum tls_protocol_version_t: UInt16, Sendable {
    case TLSv10 = 0x0301
    case TLSv11 = 0x0302
    case TLSv12 = 0x0303
    case TLSv13 = 0x0304
    case DTLSv10 = 0xfeff
    case DTLSv12 = 0xfefd
}
