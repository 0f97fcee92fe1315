/// A TLS cipher suite, with its IANA number.
@frozen public enum tls_ciphersuite_t: UInt16, Sendable {
    /// TLS 1.2 and older, RSA key exchange without forward secrecy: 3DES in CBC mode, SHA-1.
    case RSA_WITH_3DES_EDE_CBC_SHA = 0x000a
    /// TLS 1.2 and older, RSA key exchange without forward secrecy: AES-128 in CBC mode, SHA-1.
    case RSA_WITH_AES_128_CBC_SHA = 0x002f
    /// TLS 1.2 and older, RSA key exchange without forward secrecy: AES-256 in CBC mode, SHA-1.
    case RSA_WITH_AES_256_CBC_SHA = 0x0035
    /// TLS 1.2, RSA key exchange without forward secrecy: AES-128-GCM, SHA-256.
    case RSA_WITH_AES_128_GCM_SHA256 = 0x009c
    /// TLS 1.2, RSA key exchange without forward secrecy: AES-256-GCM, SHA-384.
    case RSA_WITH_AES_256_GCM_SHA384 = 0x009d
    /// TLS 1.2, RSA key exchange without forward secrecy: AES-128 in CBC mode, SHA-256.
    case RSA_WITH_AES_128_CBC_SHA256 = 0x003c
    /// TLS 1.2, RSA key exchange without forward secrecy: AES-256 in CBC mode, SHA-256.
    case RSA_WITH_AES_256_CBC_SHA256 = 0x003d
    /// TLS 1.2 and older, ECDHE with ECDSA: 3DES in CBC mode, SHA-1.
    case ECDHE_ECDSA_WITH_3DES_EDE_CBC_SHA = 0xc008
    /// TLS 1.2 and older, ECDHE with ECDSA: AES-128 in CBC mode, SHA-1.
    case ECDHE_ECDSA_WITH_AES_128_CBC_SHA = 0xc009
    /// TLS 1.2 and older, ECDHE with ECDSA: AES-256 in CBC mode, SHA-1.
    case ECDHE_ECDSA_WITH_AES_256_CBC_SHA = 0xc00a
    /// TLS 1.2 and older, ECDHE with RSA: 3DES in CBC mode, SHA-1.
    case ECDHE_RSA_WITH_3DES_EDE_CBC_SHA = 0xc012
    /// TLS 1.2 and older, ECDHE with RSA: AES-128 in CBC mode, SHA-1.
    case ECDHE_RSA_WITH_AES_128_CBC_SHA = 0xc013
    /// TLS 1.2 and older, ECDHE with RSA: AES-256 in CBC mode, SHA-1.
    case ECDHE_RSA_WITH_AES_256_CBC_SHA = 0xc014
    /// TLS 1.2, ECDHE with ECDSA: AES-128 in CBC mode, SHA-256.
    case ECDHE_ECDSA_WITH_AES_128_CBC_SHA256 = 0xc023
    /// TLS 1.2, ECDHE with ECDSA: AES-256 in CBC mode, SHA-384.
    case ECDHE_ECDSA_WITH_AES_256_CBC_SHA384 = 0xc024
    /// TLS 1.2, ECDHE with RSA: AES-128 in CBC mode, SHA-256.
    case ECDHE_RSA_WITH_AES_128_CBC_SHA256 = 0xc027
    /// TLS 1.2, ECDHE with RSA: AES-256 in CBC mode, SHA-384.
    case ECDHE_RSA_WITH_AES_256_CBC_SHA384 = 0xc028
    /// TLS 1.2, ECDHE with ECDSA: AES-128-GCM, SHA-256.
    case ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 = 0xc02b
    /// TLS 1.2, ECDHE with ECDSA: AES-256-GCM, SHA-384.
    case ECDHE_ECDSA_WITH_AES_256_GCM_SHA384 = 0xc02c
    /// TLS 1.2, ECDHE with RSA: AES-128-GCM, SHA-256.
    case ECDHE_RSA_WITH_AES_128_GCM_SHA256 = 0xc02f
    /// TLS 1.2, ECDHE with RSA: AES-256-GCM, SHA-384.
    case ECDHE_RSA_WITH_AES_256_GCM_SHA384 = 0xc030
    /// TLS 1.2, ECDHE with RSA: ChaCha20-Poly1305, SHA-256.
    case ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256 = 0xcca8
    /// TLS 1.2, ECDHE with ECDSA: ChaCha20-Poly1305, SHA-256.
    case ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256 = 0xcca9
    /// TLS 1.3: AES-128-GCM, SHA-256.
    case AES_128_GCM_SHA256 = 0x1301
    /// TLS 1.3: AES-256-GCM, SHA-384.
    case AES_256_GCM_SHA384 = 0x1302
    /// TLS 1.3: ChaCha20-Poly1305, SHA-256.
    case CHACHA20_POLY1305_SHA256 = 0x1303
}
