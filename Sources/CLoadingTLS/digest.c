#include "CLoadingTLS.h"

#include "openssl.h"

clt_digest *clt_digest_new(clt_hash hash) {
    const EVP_MD *function = NULL;
    switch (hash) {
        case CLT_MD5: function = EVP_md5(); break;
        case CLT_SHA256: function = EVP_sha256(); break;
        case CLT_SHA512_256: function = EVP_sha512_256(); break;
    }
    EVP_MD_CTX *digest = EVP_MD_CTX_new();
    if (digest != NULL && (function == NULL || EVP_DigestInit_ex(digest, function, NULL) != 1)) {
        EVP_MD_CTX_free(digest);
        digest = NULL;
        ERR_clear_error();
    }
    return digest;
}

bool clt_digest_update(clt_digest *digest, const void *bytes, size_t count) {
    return EVP_DigestUpdate(digest, bytes, count) == 1;
}

size_t clt_digest_finish(clt_digest *digest, uint8_t result[64]) {
    unsigned int count = 0;
    return EVP_DigestFinal_ex(digest, result, &count) == 1 ? count : 0;
}

void clt_digest_free(clt_digest *digest) { EVP_MD_CTX_free(digest); }
