#include "CLoadingTLS.h"
#include "openssl.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

void clt_key_free(clt_key *key) { EVP_PKEY_free(key); }

clt_key_kind clt_key_kind_of(const clt_key *key) {
    switch (EVP_PKEY_get_base_id(key)) {
    case EVP_PKEY_RSA: return CLT_RSA;
    case EVP_PKEY_EC: return CLT_ELLIPTIC;
    default: return CLT_OTHER_KEY;
    }
}

size_t clt_key_bits(const clt_key *key) {
    int bits = EVP_PKEY_get_bits(key);
    return bits > 0 ? (size_t)bits : 0;
}

// The private number of a key, or NULL when the key is public only.
static BIGNUM *private_number(const clt_key *key) {
    const char *name = clt_key_kind_of(key) == CLT_RSA ? OSSL_PKEY_PARAM_RSA_D : OSSL_PKEY_PARAM_PRIV_KEY;
    BIGNUM *number = NULL;
    if (EVP_PKEY_get_bn_param(key, name, &number) != 1) number = NULL;
    ERR_clear_error();
    return number;
}

bool clt_key_is_private(const clt_key *key) {
    BIGNUM *number = private_number(key);
    BN_clear_free(number);
    return number != NULL;
}

clt_key *clt_key_public(const clt_key *key) {
    unsigned char *der = NULL;
    int count = i2d_PUBKEY(key, &der);
    const unsigned char *next = der;
    EVP_PKEY *public = count > 0 ? d2i_PUBKEY(NULL, &next, count) : NULL;
    OPENSSL_free(der);
    ERR_clear_error();
    return public;
}

// Takes over the DER.
static clt_bytes bytes_of(unsigned char *der, int count) {
    clt_bytes result = { .bytes = count > 0 ? malloc((size_t)count) : NULL };
    if (result.bytes != NULL) {
        memcpy(result.bytes, der, (size_t)count);
        result.count = (size_t)count;
    }
    OPENSSL_clear_free(der, count > 0 ? (size_t)count : 0);
    return result;
}

static clt_bytes plain_rsa(const clt_key *key) {
    unsigned char *der = NULL;
    int count = clt_key_is_private(key) ? i2d_PrivateKey(key, &der) : i2d_PublicKey(key, &der);
    return bytes_of(der, count);
}

clt_bytes clt_key_private_form(const clt_key *key) {
    unsigned char *der = NULL;
    int count = i2d_PrivateKey(key, &der);
    ERR_clear_error();
    return bytes_of(der, count);
}

static clt_bytes plain_elliptic(const clt_key *key) {
    clt_bytes result = { 0 };
    size_t width = (clt_key_bits(key) + 7) / 8;
    BIGNUM *x = NULL, *y = NULL, *number = private_number(key);
    if (width > 0 && EVP_PKEY_get_bn_param(key, OSSL_PKEY_PARAM_EC_PUB_X, &x) == 1
        && EVP_PKEY_get_bn_param(key, OSSL_PKEY_PARAM_EC_PUB_Y, &y) == 1) {
        size_t count = 1 + width * (number == NULL ? 2 : 3);
        uint8_t *bytes = malloc(count);
        if (bytes != NULL) {
            bytes[0] = 4;
            bool fits = BN_bn2binpad(x, bytes + 1, (int)width) >= 0
                && BN_bn2binpad(y, bytes + 1 + width, (int)width) >= 0
                && (number == NULL || BN_bn2binpad(number, bytes + 1 + 2 * width, (int)width) >= 0);
            if (fits) result = (clt_bytes){ .bytes = bytes, .count = count };
            else free(bytes);
        }
    }
    BN_free(x);
    BN_free(y);
    BN_clear_free(number);
    return result;
}

clt_bytes clt_key_plain(const clt_key *key) {
    clt_bytes result = { 0 };
    switch (clt_key_kind_of(key)) {
    case CLT_RSA: result = plain_rsa(key); break;
    case CLT_ELLIPTIC: result = plain_elliptic(key); break;
    case CLT_OTHER_KEY: break;
    }
    ERR_clear_error();
    return result;
}

static const char *curve_of(size_t width) {
    switch (width) {
    case 32: return "P-256";
    case 48: return "P-384";
    case 66: return "P-521";
    default: return NULL;
    }
}

static EVP_PKEY *new_elliptic(bool is_private, const uint8_t *bytes, size_t count) {
    size_t parts = is_private ? 3 : 2;
    const char *curve = count > 1 && (count - 1) % parts == 0 ? curve_of((count - 1) / parts) : NULL;
    if (curve == NULL || bytes[0] != 4) return NULL;
    size_t width = (count - 1) / parts;
    EVP_PKEY *key = NULL;
    BIGNUM *number = is_private ? BN_bin2bn(bytes + 1 + 2 * width, (int)width, NULL) : NULL;
    OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
    if (builder != NULL
        && OSSL_PARAM_BLD_push_utf8_string(builder, OSSL_PKEY_PARAM_GROUP_NAME, curve, 0) == 1
        && OSSL_PARAM_BLD_push_octet_string(builder, OSSL_PKEY_PARAM_PUB_KEY, bytes, 1 + 2 * width) == 1
        && (number == NULL || OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_PRIV_KEY, number) == 1)) {
        OSSL_PARAM *parameters = OSSL_PARAM_BLD_to_param(builder);
        EVP_PKEY_CTX *maker = EVP_PKEY_CTX_new_from_name(NULL, "EC", NULL);
        if (parameters != NULL && maker != NULL && EVP_PKEY_fromdata_init(maker) == 1)
            EVP_PKEY_fromdata(maker, &key, is_private ? EVP_PKEY_KEYPAIR : EVP_PKEY_PUBLIC_KEY, parameters);
        EVP_PKEY_CTX_free(maker);
        OSSL_PARAM_free(parameters);
    }
    OSSL_PARAM_BLD_free(builder);
    BN_clear_free(number);
    return key;
}

clt_key *clt_key_new(clt_key_kind kind, bool is_private, const uint8_t *bytes, size_t count) {
    EVP_PKEY *key = NULL;
    const unsigned char *next = bytes;
    if (kind == CLT_RSA && count <= LONG_MAX) {
        key = is_private ? d2i_PrivateKey(EVP_PKEY_RSA, NULL, &next, (long)count)
            : d2i_PublicKey(EVP_PKEY_RSA, NULL, &next, (long)count);
        if (key != NULL && next != bytes + count) { EVP_PKEY_free(key); key = NULL; }
    } else if (kind == CLT_ELLIPTIC) {
        key = new_elliptic(is_private, bytes, count);
    }
    ERR_clear_error();
    return key;
}

bool clt_keys_are_equal(const clt_key *one, const clt_key *other) {
    bool equal = EVP_PKEY_eq(one, other) == 1 && clt_key_is_private(one) == clt_key_is_private(other);
    ERR_clear_error();
    return equal;
}
