#include "CTestTLS.h"

#include "DER.h"

#include <openssl/conf.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ocsp.h>
#include <openssl/pkcs12.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>

void ctt_bytes_free(ctt_bytes bytes) {
    OPENSSL_free(bytes.bytes);
}

void ctt_take_error(char *buffer, size_t capacity) {
    unsigned long error = ERR_peek_last_error();
    if (error == 0) {
        snprintf(buffer, capacity, "no error is recorded");
    } else {
        ERR_error_string_n(error, buffer, capacity);
    }
    ERR_clear_error();
}

// MARK: Keys

EVP_PKEY *ctt_parse_key(const uint8_t *bytes, size_t count) {
    return d2i_AutoPrivateKey(NULL, &bytes, (long)count);
}

X509 *ctt_parse_certificate(const uint8_t *bytes, size_t count) {
    return d2i_X509(NULL, &bytes, (long)count);
}

static int give(ctt_bytes *out, uint8_t *bytes, int count) {
    if (count <= 0) {
        OPENSSL_free(bytes);
        return 0;
    }
    *out = (ctt_bytes){bytes, (size_t)count};
    return 1;
}

static int give_key(EVP_PKEY *key, ctt_bytes *out) {
    if (key == NULL) return 0;
    PKCS8_PRIV_KEY_INFO *info = EVP_PKEY2PKCS8(key);
    uint8_t *bytes = NULL;
    int count = info ? i2d_PKCS8_PRIV_KEY_INFO(info, &bytes) : 0;
    PKCS8_PRIV_KEY_INFO_free(info);
    EVP_PKEY_free(key);
    return give(out, bytes, count);
}

int ctt_make_elliptic_key(const char *curve, ctt_bytes *key) {
    return give_key(EVP_EC_gen(curve), key);
}

int ctt_make_edwards_key(ctt_bytes *key) {
    return give_key(EVP_PKEY_Q_keygen(NULL, NULL, "ED25519"), key);
}

int ctt_make_rsa_key(unsigned bits, ctt_bytes *key) {
    return give_key(EVP_RSA_gen(bits), key);
}

// MARK: Certificates

enum { MOST_EXTENSIONS = 8 };

struct ctt_builder {
    X509 *certificate;
    GENERAL_NAMES *names;
    EXTENDED_KEY_USAGE *purposes;
    int is_authority;
    int path_length;
    int extension_count;
    struct {
        char *name, *value;
    } extensions[MOST_EXTENSIONS];
};

ctt_builder *ctt_builder_create(void) {
    ctt_builder *builder = calloc(1, sizeof *builder);
    if (builder == NULL) return NULL;
    builder->path_length = -1;
    builder->certificate = X509_new();
    builder->names = GENERAL_NAMES_new();
    builder->purposes = EXTENDED_KEY_USAGE_new();
    uint64_t serial = 0;
    RAND_bytes((uint8_t *)&serial, sizeof serial);
    if (builder->certificate == NULL || !X509_set_version(builder->certificate, X509_VERSION_3)
        || !ASN1_INTEGER_set_uint64(X509_get_serialNumber(builder->certificate), (serial >> 1) | 1)) {
        ctt_builder_free(builder);
        return NULL;
    }
    return builder;
}

void ctt_builder_free(ctt_builder *builder) {
    if (builder == NULL) return;
    X509_free(builder->certificate);
    GENERAL_NAMES_free(builder->names);
    EXTENDED_KEY_USAGE_free(builder->purposes);
    for (int index = 0; index < builder->extension_count; index++) {
        free(builder->extensions[index].name);
        free(builder->extensions[index].value);
    }
    free(builder);
}

int ctt_builder_set_common_name(ctt_builder *builder, const uint8_t *bytes, size_t count) {
    return X509_NAME_add_entry_by_NID(X509_get_subject_name(builder->certificate), NID_commonName, MBSTRING_UTF8,
                                      bytes, (int)count, -1, 0);
}

int ctt_builder_set_validity(ctt_builder *builder, int64_t not_before, int64_t not_after) {
    return ASN1_TIME_set(X509_getm_notBefore(builder->certificate), (time_t)not_before)
        && ASN1_TIME_set(X509_getm_notAfter(builder->certificate), (time_t)not_after);
}

int ctt_builder_add_name(ctt_builder *builder, int kind, const uint8_t *bytes, size_t count) {
    GENERAL_NAME *name = GENERAL_NAME_new();
    if (name == NULL) return 0;
    int type = kind == CTT_NAME_IP     ? GEN_IPADD
               : kind == CTT_NAME_URI  ? GEN_URI
               : kind == CTT_NAME_MAIL ? GEN_EMAIL
                                       : GEN_DNS;
    ASN1_STRING *value = type == GEN_IPADD ? ASN1_OCTET_STRING_new() : ASN1_IA5STRING_new();
    if (value == NULL || !ASN1_STRING_set(value, bytes, (int)count)) {
        ASN1_STRING_free(value);
        GENERAL_NAME_free(name);
        return 0;
    }
    GENERAL_NAME_set0_value(name, type, value);
    return sk_GENERAL_NAME_push(builder->names, name) > 0;
}

int ctt_builder_set_version(ctt_builder *builder, int version) {
    return X509_set_version(builder->certificate, version - 1);
}

int ctt_builder_set_authority(ctt_builder *builder, int is_authority, int path_length) {
    builder->is_authority = is_authority;
    builder->path_length = path_length;
    return 1;
}

int ctt_builder_add_purpose(ctt_builder *builder, const char *object_identifier) {
    ASN1_OBJECT *purpose = OBJ_txt2obj(object_identifier, 1);
    return purpose != NULL && sk_ASN1_OBJECT_push(builder->purposes, purpose) > 0;
}

int ctt_builder_add_extension(ctt_builder *builder, const char *name, const char *value) {
    if (builder->extension_count == MOST_EXTENSIONS) return 0;
    int index = builder->extension_count++;
    builder->extensions[index].name = strdup(name);
    builder->extensions[index].value = strdup(value);
    return builder->extensions[index].name != NULL && builder->extensions[index].value != NULL;
}

static int says(const ctt_builder *builder, const char *name) {
    for (int index = 0; index < builder->extension_count; index++)
        if (strcmp(builder->extensions[index].name, name) == 0) return 1;
    return 0;
}

static int add_more_extensions(ctt_builder *builder, X509 *issuer) {
    // Some extensions want a configuration, though nothing is looked up in it.
    CONF *configuration = NCONF_new(NULL);
    if (configuration == NULL) return 0;
    X509V3_CTX context;
    X509V3_set_ctx(&context, issuer, builder->certificate, NULL, NULL, 0);
    X509V3_set_nconf(&context, configuration);
    int added = 1;
    for (int index = 0; added && index < builder->extension_count; index++) {
        if (builder->extensions[index].value[0] == 0) continue;
        X509_EXTENSION *extension = X509V3_EXT_nconf(
            configuration, &context, builder->extensions[index].name, builder->extensions[index].value);
        added = extension != NULL && X509_add_ext(builder->certificate, extension, -1);
        X509_EXTENSION_free(extension);
    }
    NCONF_free(configuration);
    return added;
}

static int add_extension(X509 *certificate, X509 *issuer, int nid, const char *value) {
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, issuer, certificate, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
    int added = extension != NULL && X509_add_ext(certificate, extension, -1);
    X509_EXTENSION_free(extension);
    return added;
}

static int add_extensions(ctt_builder *builder, X509 *issuer) {
    X509 *certificate = builder->certificate;
    // The older versions have none.
    if (X509_get_version(certificate) != X509_VERSION_3) return 1;
    char constraints[64] = "critical,CA:FALSE";
    if (builder->is_authority && builder->path_length >= 0) {
        snprintf(constraints, sizeof constraints, "critical,CA:TRUE,pathlen:%d", builder->path_length);
    } else if (builder->is_authority) {
        snprintf(constraints, sizeof constraints, "critical,CA:TRUE");
    }
    const char *usage = builder->is_authority ? "critical,digitalSignature,keyCertSign,cRLSign"
                                              : "critical,digitalSignature,keyEncipherment";
    // The authority key identifier is taken from the issuer's subject key identifier, so that one goes in first.
    return (says(builder, "basicConstraints")
            || add_extension(certificate, issuer, NID_basic_constraints, constraints))
        && (says(builder, "keyUsage") || add_extension(certificate, issuer, NID_key_usage, usage))
        && add_more_extensions(builder, issuer)
        && add_extension(certificate, issuer, NID_subject_key_identifier, "hash")
        && (X509_get_ext_by_NID(issuer, NID_subject_key_identifier, -1) < 0
            || add_extension(certificate, issuer, NID_authority_key_identifier, "keyid:always"))
        && (sk_GENERAL_NAME_num(builder->names) == 0
            || X509_add1_ext_i2d(certificate, NID_subject_alt_name, builder->names,
                                 X509_NAME_entry_count(X509_get_subject_name(certificate)) == 0,
                                 X509V3_ADD_APPEND) == 1)
        && (sk_ASN1_OBJECT_num(builder->purposes) == 0
            || X509_add1_ext_i2d(certificate, NID_ext_key_usage, builder->purposes, 0, 0) == 1);
}

int ctt_builder_sign(ctt_builder *builder, const uint8_t *key, size_t key_count, const uint8_t *issuer,
                     size_t issuer_count, const uint8_t *issuer_key, size_t issuer_key_count, const char *digest,
                     ctt_bytes *certificate) {
    EVP_PKEY *subject_key = ctt_parse_key(key, key_count);
    EVP_PKEY *signing_key = issuer ? ctt_parse_key(issuer_key, issuer_key_count) : ctt_parse_key(key, key_count);
    X509 *parent = issuer ? ctt_parse_certificate(issuer, issuer_count) : NULL;
    const EVP_MD *md = EVP_get_digestbyname(digest);
    uint8_t *bytes = NULL;
    int count = 0;
    if (subject_key && signing_key && md && (parent || !issuer)) {
        X509 *signer = parent ? parent : builder->certificate;
        // Such keys bring their own digest.
        if (EVP_PKEY_get_base_id(signing_key) == EVP_PKEY_ED25519) md = NULL;
        if (X509_set_pubkey(builder->certificate, subject_key)
            && X509_set_issuer_name(builder->certificate, X509_get_subject_name(signer))
            && add_extensions(builder, signer) && X509_sign(builder->certificate, signing_key, md) > 0) {
            count = i2d_X509(builder->certificate, &bytes);
        }
    }
    X509_free(parent);
    EVP_PKEY_free(signing_key);
    EVP_PKEY_free(subject_key);
    return give(certificate, bytes, count);
}

// MARK: PKCS #12

struct ctt_chain {
    STACK_OF(X509) * certificates;
};

ctt_chain *ctt_chain_create(void) {
    ctt_chain *chain = calloc(1, sizeof *chain);
    if (chain != NULL) chain->certificates = sk_X509_new_null();
    return chain;
}

void ctt_chain_free(ctt_chain *chain) {
    if (chain == NULL) return;
    sk_X509_pop_free(chain->certificates, X509_free);
    free(chain);
}

int ctt_chain_append(ctt_chain *chain, const uint8_t *certificate, size_t count) {
    X509 *parsed = ctt_parse_certificate(certificate, count);
    return parsed != NULL && sk_X509_push(chain->certificates, parsed) > 0;
}

int ctt_make_pkcs12(const char *password, const char *friendly_name, const uint8_t *certificate,
                    size_t certificate_count, const uint8_t *key, size_t key_count, const ctt_chain *chain,
                    ctt_bytes *archive) {
    EVP_PKEY *parsed_key = ctt_parse_key(key, key_count);
    X509 *parsed = ctt_parse_certificate(certificate, certificate_count);
    PKCS12 *made = NULL;
    if (parsed_key && parsed) {
        made = PKCS12_create(password, friendly_name, parsed_key, parsed, chain->certificates, 0, 0, 0, 0, 0);
    }
    uint8_t *bytes = NULL;
    int count = made ? i2d_PKCS12(made, &bytes) : 0;
    PKCS12_free(made);
    X509_free(parsed);
    EVP_PKEY_free(parsed_key);
    return give(archive, bytes, count);
}

// MARK: OCSP

int ctt_make_ocsp_response(int status, int64_t this_update, int64_t next_update, const uint8_t *certificate,
                           size_t certificate_count, const uint8_t *issuer, size_t issuer_count,
                           const uint8_t *issuer_key, size_t issuer_key_count, ctt_bytes *response) {
    X509 *subject = ctt_parse_certificate(certificate, certificate_count);
    X509 *signer = ctt_parse_certificate(issuer, issuer_count);
    EVP_PKEY *key = ctt_parse_key(issuer_key, issuer_key_count);
    OCSP_BASICRESP *basic = OCSP_BASICRESP_new();
    ASN1_TIME *made = ASN1_GENERALIZEDTIME_set(NULL, (time_t)this_update);
    ASN1_TIME *next = ASN1_GENERALIZEDTIME_set(NULL, (time_t)next_update);
    OCSP_RESPONSE *whole = NULL;
    if (subject && signer && key && basic && made && next) {
        OCSP_CERTID *id = OCSP_cert_to_id(NULL, subject, signer);
        int known = status == CTT_OCSP_GOOD ? V_OCSP_CERTSTATUS_GOOD
                    : status == CTT_OCSP_REVOKED ? V_OCSP_CERTSTATUS_REVOKED
                                                 : V_OCSP_CERTSTATUS_UNKNOWN;
        ASN1_TIME *revoked = known == V_OCSP_CERTSTATUS_REVOKED ? made : NULL;
        int reason = revoked ? OCSP_REVOKED_STATUS_KEYCOMPROMISE : 0;
        if (id && OCSP_basic_add1_status(basic, id, known, reason, revoked, made, next)
            && OCSP_basic_sign(basic, signer, key, EVP_sha256(), NULL, 0)) {
            whole = OCSP_response_create(OCSP_RESPONSE_STATUS_SUCCESSFUL, basic);
        }
        OCSP_CERTID_free(id);
    }
    uint8_t *bytes = NULL;
    int count = whole ? i2d_OCSP_RESPONSE(whole, &bytes) : 0;
    OCSP_RESPONSE_free(whole);
    ASN1_TIME_free(next);
    ASN1_TIME_free(made);
    OCSP_BASICRESP_free(basic);
    EVP_PKEY_free(key);
    X509_free(signer);
    X509_free(subject);
    return give(response, bytes, count);
}
