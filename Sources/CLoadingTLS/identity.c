#include "CLoadingTLS.h"

#include "failure.h"
#include "identity.h"
#include "openssl.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

// Takes over all three, whatever comes of it.
static clt_identity *identity_of(X509 *leaf, EVP_PKEY *key, STACK_OF(X509) *intermediates, clt_failure *failure) {
    bool fits = leaf != NULL && key != NULL && X509_check_private_key(leaf, key) == 1;
    clt_identity *identity = fits ? malloc(sizeof *identity) : NULL;
    if (identity == NULL) {
        *failure = clt_failure_take("no certificate with its private key");
        X509_free(leaf);
        EVP_PKEY_free(key);
        sk_X509_pop_free(intermediates, X509_free);
        return NULL;
    }
    *identity = (clt_identity){ .leaf = leaf, .key = key, .intermediates = intermediates };
    return identity;
}

void clt_identity_free(clt_identity *identity) {
    if (identity == NULL) return;
    X509_free(identity->leaf);
    EVP_PKEY_free(identity->key);
    sk_X509_pop_free(identity->intermediates, X509_free);
    free(identity);
}

clt_chain *clt_identity_chain(const clt_identity *identity) {
    STACK_OF(X509) *chain = sk_X509_new_null();
    if (chain == NULL) return NULL;
    if (X509_add_cert(chain, identity->leaf, X509_ADD_FLAG_UP_REF) != 1
        || X509_add_certs(chain, identity->intermediates, X509_ADD_FLAG_UP_REF) != 1) {
        clt_chain_free(chain);
        return NULL;
    }
    return chain;
}

// OpenSSL's default prompts on the terminal.
static int give_password(char *buffer, int capacity, int writing, void *password) {
    (void)writing;
    if (password == NULL) return -1;
    size_t count = strlen(password);
    if (count > (size_t)capacity) return -1;
    memcpy(buffer, password, count);
    return (int)count;
}

clt_identity *clt_identity_from_pem(const uint8_t *bytes, size_t count, const char *password, clt_failure *failure) {
    ERR_clear_error();
    BIO *keys = count > INT_MAX ? NULL : BIO_new_mem_buf(bytes, (int)count);
    BIO *certificates = count > INT_MAX ? NULL : BIO_new_mem_buf(bytes, (int)count);
    STACK_OF(X509) *chain = sk_X509_new_null();
    EVP_PKEY *key = keys == NULL ? NULL : PEM_read_bio_PrivateKey(keys, NULL, give_password, (void *)password);
    X509 *leaf = NULL;
    // The end of the certificates is reported as an error, which must not precede the key's.
    ERR_set_mark();
    while (chain != NULL && certificates != NULL) {
        X509 *next = PEM_read_bio_X509(certificates, NULL, give_password, NULL);
        if (next == NULL) break;
        if (leaf == NULL) leaf = next;
        else if (sk_X509_push(chain, next) <= 0) X509_free(next);
    }
    ERR_pop_to_mark();
    BIO_free(keys);
    BIO_free(certificates);
    return identity_of(leaf, key, chain, failure);
}

clt_identity *clt_identity_from_der(
    const clt_chain *chain, const uint8_t *key_bytes, size_t key_count, clt_failure *failure) {
    ERR_clear_error();
    STACK_OF(X509) *intermediates = X509_chain_up_ref((STACK_OF(X509) *)chain);
    const unsigned char *next = key_bytes;
    EVP_PKEY *key = key_count > LONG_MAX ? NULL : d2i_AutoPrivateKey(NULL, &next, (long)key_count);
    return identity_of(intermediates == NULL ? NULL : sk_X509_shift(intermediates), key, intermediates, failure);
}

clt_identity *clt_identity_new(
    const clt_certificate *leaf, const clt_key *key, const clt_chain *intermediates, clt_failure *failure) {
    ERR_clear_error();
    X509_up_ref((X509 *)leaf);
    EVP_PKEY_up_ref((EVP_PKEY *)key);
    STACK_OF(X509) *others = intermediates == NULL ? NULL : X509_chain_up_ref((STACK_OF(X509) *)intermediates);
    return identity_of((X509 *)leaf, (EVP_PKEY *)key, others, failure);
}

clt_key *clt_identity_key(const clt_identity *identity) {
    EVP_PKEY_up_ref(identity->key);
    return identity->key;
}

static PKCS12 *pkcs12_from(const uint8_t *bytes, size_t count, OSSL_LIB_CTX *library) {
    if (count > LONG_MAX) return NULL;
    const unsigned char *next = bytes;
    PKCS12 *box = library == NULL ? PKCS12_new() : PKCS12_init_ex(NID_pkcs7_data, library, NULL);
    return box == NULL ? NULL : d2i_PKCS12(&box, &next, (long)count);
}

// What an archive calls a certificate and its key is not part of the certificate's DER.
static X509 *copy_outside(X509 *inside) {
    unsigned char *der = NULL;
    int count = i2d_X509(inside, &der);
    const unsigned char *next = der;
    X509 *copy = count > 0 ? d2i_X509(NULL, &next, count) : NULL;
    OPENSSL_free(der);
    if (copy == NULL) return NULL;
    int length = 0;
    const unsigned char *label = X509_alias_get0(inside, &length);
    if (label != NULL) X509_alias_set1(copy, label, length);
    const unsigned char *identifier = X509_keyid_get0(inside, &length);
    if (identifier != NULL) X509_keyid_set1(copy, identifier, length);
    return copy;
}

static EVP_PKEY *key_outside(EVP_PKEY *inside) {
    unsigned char *der = NULL;
    int count = i2d_PrivateKey(inside, &der);
    const unsigned char *next = der;
    EVP_PKEY *copy = count > 0 ? d2i_PrivateKey(EVP_PKEY_get_base_id(inside), NULL, &next, count) : NULL;
    OPENSSL_clear_free(der, count > 0 ? (size_t)count : 0);
    return copy;
}

// Archives of older programs are encrypted with RC2, RC4 or DES, which only the legacy provider supports. It stays in a library
// context of its own; the key and the certificates are moved out of it. False if the provider's module is missing, too.
static bool parse_legacy(
    const uint8_t *bytes, size_t count, const char *password, EVP_PKEY **key, X509 **leaf, STACK_OF(X509) **others) {
    OSSL_LIB_CTX *library = OSSL_LIB_CTX_new();
    if (library == NULL) return false;
    OSSL_PROVIDER *legacy = OSSL_PROVIDER_load(library, "legacy");
    OSSL_PROVIDER *standard = legacy == NULL ? NULL : OSSL_PROVIDER_load(library, "default");
    PKCS12 *box = standard == NULL ? NULL : pkcs12_from(bytes, count, library);
    EVP_PKEY *inside = NULL;
    X509 *leaf_inside = NULL;
    STACK_OF(X509) *others_inside = NULL;
    if (box != NULL) {
        // OpenSSL decrypts the certificates in the archive's library context, but the key in the thread's.
        OSSL_LIB_CTX *former = OSSL_LIB_CTX_set0_default(library);
        if (PKCS12_parse(box, password, &inside, &leaf_inside, &others_inside) != 1)
            inside = NULL, leaf_inside = NULL, others_inside = NULL;
        OSSL_LIB_CTX_set0_default(former);
    }
    if (inside != NULL) {
        *key = key_outside(inside);
        if (leaf_inside != NULL) *leaf = copy_outside(leaf_inside);
        *others = sk_X509_new_null();
        for (int index = 0; *others != NULL && index < sk_X509_num(others_inside); index++) {
            X509 *other = copy_outside(sk_X509_value(others_inside, index));
            if (other != NULL && sk_X509_push(*others, other) <= 0) X509_free(other);
        }
    }
    EVP_PKEY_free(inside);
    X509_free(leaf_inside);
    sk_X509_pop_free(others_inside, X509_free);
    PKCS12_free(box);
    if (standard != NULL) OSSL_PROVIDER_unload(standard);
    if (legacy != NULL) OSSL_PROVIDER_unload(legacy);
    OSSL_LIB_CTX_free(library);
    return *key != NULL;
}

clt_archive clt_pkcs12_try(const uint8_t *bytes, size_t count, const char *password) {
    PKCS12 *box = pkcs12_from(bytes, count, NULL);
    clt_archive result = CLT_ARCHIVE_IS_NONE;
    if (box != NULL) {
        bool opens = PKCS12_mac_present(box) != 1 || PKCS12_verify_mac(box, password, -1) == 1
            // Some writers of archives distinguish no password from an empty one.
            || ((password == NULL || password[0] == 0) && PKCS12_verify_mac(box, NULL, 0) == 1);
        result = opens ? CLT_ARCHIVE_OPENS : CLT_ARCHIVE_IS_LOCKED;
    }
    PKCS12_free(box);
    ERR_clear_error();
    return result;
}

clt_identity *clt_identity_from_pkcs12(
    const uint8_t *bytes, size_t count, const char *password, bool *is_unsupported, clt_failure *failure) {
    ERR_clear_error();
    *is_unsupported = false;
    EVP_PKEY *key = NULL;
    X509 *leaf = NULL;
    STACK_OF(X509) *others = NULL;
    PKCS12 *box = pkcs12_from(bytes, count, NULL);
    if (box != NULL && PKCS12_parse(box, password, &key, &leaf, &others) != 1
        && ERR_GET_REASON(ERR_peek_error()) == ERR_R_UNSUPPORTED) {
        key = NULL, leaf = NULL, others = NULL;
        if (parse_legacy(bytes, count, password, &key, &leaf, &others)) ERR_clear_error();
        else *is_unsupported = true;
    }
    PKCS12_free(box);
    return identity_of(leaf, key, others, failure);
}
