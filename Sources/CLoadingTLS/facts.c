// What rules for servers' certificates ask of one certificate.
#include "CLoadingTLS.h"
#include "openssl.h"

static clt_signature_hash hash_of(const clt_certificate *certificate) {
    int digest = NID_undef, key = NID_undef;
    if (X509_get_signature_info((X509 *)certificate, &digest, &key, NULL, NULL) != 1) return CLT_OTHER_HASH;
    if (key == NID_ED25519 || key == NID_ED448) return CLT_EDWARDS;
    switch (digest) {
    case NID_sha224:
    case NID_sha256:
    case NID_sha384:
    case NID_sha512:
    case NID_sha512_224:
    case NID_sha512_256: return CLT_SHA2;
    case NID_sha1: return CLT_SHA1;
    default: return CLT_OTHER_HASH;
    }
}

size_t clt_certificate_end_point_hash(const clt_certificate *certificate, uint8_t hash[64]) {
    int digest = NID_undef;
    unsigned int count = 0;
    // For RSASSA-PSS the hash function is a parameter, which this returns too.
    if (X509_get_signature_info((X509 *)certificate, &digest, NULL, NULL, NULL) == 1 && digest != NID_undef) {
        const EVP_MD *function =
            digest == NID_md5 || digest == NID_sha1 ? EVP_sha256() : EVP_get_digestbyname(OBJ_nid2sn(digest));
        if (function == NULL || X509_digest(certificate, function, hash, &count) != 1) count = 0;
    }
    ERR_clear_error();
    return count;
}

static void add_key(const clt_certificate *certificate, clt_facts *facts) {
    clt_key *key = clt_certificate_key(certificate);
    facts->key = CLT_OTHER_KEY;
    if (key == NULL) return;
    facts->key_bits = clt_key_bits(key);
    switch (EVP_PKEY_get_base_id(key)) {
    case EVP_PKEY_RSA:
    case EVP_PKEY_RSA_PSS: facts->key = CLT_RSA; break;
    case EVP_PKEY_EC: facts->key = CLT_ELLIPTIC; break;
    // OpenSSL reports the length of the order, which is slightly less than that of the field.
    case EVP_PKEY_ED25519: facts->key = CLT_ELLIPTIC, facts->key_bits = 256; break;
    case EVP_PKEY_ED448: facts->key = CLT_ELLIPTIC, facts->key_bits = 448; break;
    default: break;
    }
    clt_key_free(key);
}

clt_facts clt_certificate_facts(const clt_certificate *certificate) {
    X509 *parsed = (X509 *)certificate;
    clt_facts facts = { .signature = hash_of(certificate) };
    add_key(certificate, &facts);
    uint32_t flags = X509_get_extension_flags(parsed);
    uint32_t purposes = X509_get_extended_key_usage(parsed);
    facts.is_authority = (flags & EXFLAG_CA) != 0;
    facts.is_self_issued = (flags & EXFLAG_SI) != 0;
    facts.path_length = (int32_t)X509_get_pathlen(parsed);
    facts.has_purposes = purposes != UINT32_MAX;
    facts.is_for_servers = facts.has_purposes && (purposes & XKU_SSL_SERVER) != 0;
    facts.is_for_anything = facts.has_purposes && (purposes & XKU_ANYEKU) != 0;
    ERR_clear_error();
    return facts;
}

clt_names *clt_certificate_names(const clt_certificate *certificate) {
    clt_names *names = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
    ERR_clear_error();
    return names;
}

void clt_names_free(clt_names *names) { GENERAL_NAMES_free(names); }

size_t clt_names_count(const clt_names *names) {
    int count = sk_GENERAL_NAME_num(names);
    return count > 0 ? (size_t)count : 0;
}

clt_name_kind clt_names_get(const clt_names *names, size_t index, const uint8_t **bytes, size_t *count) {
    const GENERAL_NAME *name = sk_GENERAL_NAME_value(names, (int)index);
    *bytes = NULL;
    *count = 0;
    if (name == NULL || (name->type != GEN_DNS && name->type != GEN_IPADD)) return CLT_OTHER_NAME;
    const ASN1_STRING *value = name->type == GEN_DNS ? (ASN1_STRING *)name->d.dNSName : name->d.iPAddress;
    int length = ASN1_STRING_length(value);
    *bytes = ASN1_STRING_get0_data(value);
    *count = length > 0 ? (size_t)length : 0;
    return name->type == GEN_DNS ? CLT_HOST_NAME : CLT_ADDRESS_NAME;
}
