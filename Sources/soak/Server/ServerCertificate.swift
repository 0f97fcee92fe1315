import CLoadingOpenSSL
import Foundation

/// A self-signed certificate, and the TLS context that uses it.
enum ServerCertificate {
    struct Failure: Error {}

    /// A context with a new key. Writes the certificate to `path`, for the client to trust.
    static func makeContext(writingTo path: String) throws -> OpaquePointer {
        guard let key = makeKey(), let certificate = makeCertificate(key), write(certificate, to: path),
            let context = SSL_CTX_new(TLS_server_method()), SSL_CTX_use_certificate(context, certificate) == 1,
            SSL_CTX_use_PrivateKey(context, key) == 1
        else { throw Failure() }
        return context
    }

    private static func makeKey() -> OpaquePointer? {
        guard let maker = EVP_PKEY_CTX_new_id(EVP_PKEY_EC, nil) else { return nil }
        defer { EVP_PKEY_CTX_free(maker) }
        var key: OpaquePointer?
        guard EVP_PKEY_keygen_init(maker) == 1,
            EVP_PKEY_CTX_set_ec_paramgen_curve_nid(maker, NID_X9_62_prime256v1) == 1,
            EVP_PKEY_keygen(maker, &key) == 1
        else { return nil }
        return key
    }

    private static func makeCertificate(_ key: OpaquePointer) -> OpaquePointer? {
        guard let certificate = X509_new(), let name = X509_get_subject_name(certificate) else { return nil }
        let isMade =
            X509_set_version(certificate, 2) == 1
            && ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1) == 1
            && X509_gmtime_adj(X509_getm_notBefore(certificate), -3600) != nil
            && X509_gmtime_adj(X509_getm_notAfter(certificate), 7 * 24 * 3600) != nil
            && X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, "soak", -1, -1, 0) == 1
            && X509_set_issuer_name(certificate, name) == 1
            && X509_set_pubkey(certificate, key) == 1
            && add("DNS:localhost,IP:127.0.0.1", NID_subject_alt_name, to: certificate)
            && add("serverAuth", NID_ext_key_usage, to: certificate)
            && X509_sign(certificate, key, EVP_sha256()) > 0
        return isMade ? certificate : nil
    }

    private static func add(_ value: String, _ kind: Int32, to certificate: OpaquePointer) -> Bool {
        guard let ext = X509V3_EXT_conf_nid(nil, nil, kind, value) else { return false }
        defer { X509_EXTENSION_free(ext) }
        return X509_add_ext(certificate, ext, -1) == 1
    }

    private static func write(_ certificate: OpaquePointer, to path: String) -> Bool {
        guard let file = BIO_new_file(path, "w") else { return false }
        defer { BIO_free(file) }
        return PEM_write_bio_X509(file, certificate) == 1
    }
}
