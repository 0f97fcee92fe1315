#include "CLoadingTLS.h"
#include "certificate.h"
#include "openssl.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void clt_bytes_free(clt_bytes bytes) { free(bytes.bytes); }

static clt_bytes copy_of(const void *bytes, size_t count) {
    clt_bytes copy = { .bytes = count > 0 && bytes != NULL ? malloc(count) : NULL };
    if (copy.bytes == NULL) return copy;
    memcpy(copy.bytes, bytes, count);
    copy.count = count;
    return copy;
}

// Takes over what OpenSSL has written.
static clt_bytes taken(unsigned char *bytes, int count) {
    clt_bytes copy = copy_of(bytes, count > 0 ? (size_t)count : 0);
    OPENSSL_free(bytes);
    return copy;
}

clt_certificate *clt_certificate_new(const uint8_t *der, size_t count) {
    if (count > LONG_MAX) return NULL;
    const unsigned char *next = der;
    X509 *certificate = d2i_X509(NULL, &next, (long)count);
    if (certificate != NULL && next != der + count) { X509_free(certificate); certificate = NULL; }
    ERR_clear_error();
    return certificate;
}

void clt_certificate_free(clt_certificate *certificate) { X509_free(certificate); }

clt_certificate *clt_chain_get(const clt_chain *chain, size_t index) {
    if (index >= clt_chain_count(chain)) return NULL;
    X509 *certificate = sk_X509_value(chain, (int)index);
    X509_up_ref(certificate);
    return certificate;
}

clt_key *clt_certificate_key(const clt_certificate *certificate) {
    EVP_PKEY *key = X509_get_pubkey((X509 *)certificate);
    ERR_clear_error();
    return key;
}

// The last entry of that kind: the most particular one.
static clt_bytes name_entry(X509_NAME *name, int kind) {
    int found = -1, next;
    while ((next = X509_NAME_get_index_by_NID(name, kind, found)) >= 0) found = next;
    if (found < 0) return (clt_bytes){ 0 };
    unsigned char *text = NULL;
    int count = ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, found)));
    return taken(text, count);
}

static clt_bytes first_alternative_name(const X509 *certificate) {
    GENERAL_NAMES *names = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
    clt_bytes found = { 0 };
    for (int index = 0; found.bytes == NULL && index < sk_GENERAL_NAME_num(names); index++) {
        GENERAL_NAME *name = sk_GENERAL_NAME_value(names, index);
        if (name->type == GEN_DNS) found = copy_of(name->d.dNSName->data, (size_t)name->d.dNSName->length);
    }
    GENERAL_NAMES_free(names);
    return found;
}

static clt_bytes name_summary(X509_NAME *name) {
    static const int kinds[] = { NID_commonName, NID_organizationalUnitName, NID_organizationName };
    clt_bytes found = { 0 };
    for (size_t index = 0; found.bytes == NULL && index < sizeof kinds / sizeof *kinds; index++)
        found = name_entry(name, kinds[index]);
    return found;
}

static clt_bytes summary(const X509 *certificate) {
    clt_bytes found = name_summary(X509_get_subject_name(certificate));
    return found.bytes != NULL ? found : first_alternative_name(certificate);
}

// Upper case, single spaces, one kind of string, so that names that are equal have the same bytes.
static clt_bytes normalized(X509_NAME *name) {
    X509_NAME *copy = X509_NAME_new();
    clt_bytes result = { 0 };
    for (int index = 0; copy != NULL && index < X509_NAME_entry_count(name); index++) {
        X509_NAME_ENTRY *entry = X509_NAME_get_entry(name, index);
        unsigned char *text = NULL;
        int count = ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(entry));
        int kept = 0;
        for (int from = 0; from < count; from++) {
            unsigned char byte = text[from];
            if (byte >= 'a' && byte <= 'z') byte -= 'a' - 'A';
            if (byte == ' ' && (kept == 0 || text[kept - 1] == ' ')) continue;
            text[kept++] = byte;
        }
        if (kept > 0 && text[kept - 1] == ' ') kept--;
        int set = index > 0 && X509_NAME_ENTRY_set(entry) == X509_NAME_ENTRY_set(X509_NAME_get_entry(name, index - 1))
            ? -1 : 0;
        bool added = count >= 0 && X509_NAME_add_entry_by_OBJ(
            copy, X509_NAME_ENTRY_get_object(entry), V_ASN1_UTF8STRING, text, kept, -1, set) == 1;
        OPENSSL_free(text);
        if (!added) { X509_NAME_free(copy); copy = NULL; }
    }
    if (copy != NULL) {
        unsigned char *der = NULL;
        int count = i2d_X509_NAME(copy, &der);
        result = taken(der, count);
    }
    X509_NAME_free(copy);
    return result;
}

clt_bytes clt_certificate_part(const clt_certificate *certificate, clt_part part) {
    clt_bytes result = { 0 };
    unsigned char *der = NULL;
    int count = 0;
    switch (part) {
    case CLT_DER:
        count = i2d_X509(certificate, &der);
        result = taken(der, count);
        break;
    case CLT_SUMMARY: result = summary(certificate); break;
    case CLT_ISSUER_SUMMARY: result = name_summary(X509_get_issuer_name(certificate)); break;
    case CLT_COMMON_NAME: result = name_entry(X509_get_subject_name(certificate), NID_commonName); break;
    case CLT_SERIAL: {
        const ASN1_INTEGER *serial = X509_get0_serialNumber(certificate);
        result = copy_of(ASN1_STRING_get0_data(serial), (size_t)ASN1_STRING_length(serial));
        break;
    }
    case CLT_ISSUER: result = normalized(X509_get_issuer_name(certificate)); break;
    case CLT_SUBJECT: result = normalized(X509_get_subject_name(certificate)); break;
    case CLT_KEY:
        count = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), &der);
        result = taken(der, count);
        break;
    case CLT_LABEL: {
        const unsigned char *label = X509_alias_get0((X509 *)certificate, &count);
        result = copy_of(label, count > 0 ? (size_t)count : 0);
        break;
    }
    case CLT_KEY_ID: {
        const unsigned char *identifier = X509_keyid_get0((X509 *)certificate, &count);
        result = copy_of(identifier, count > 0 ? (size_t)count : 0);
        break;
    }
    }
    ERR_clear_error();
    return result;
}

clt_bytes clt_certificate_mail(const clt_certificate *certificate) {
    STACK_OF(OPENSSL_STRING) *addresses = X509_get1_email((X509 *)certificate);
    int number = sk_OPENSSL_STRING_num(addresses);
    size_t count = 0;
    for (int index = 0; index < number; index++) count += strlen(sk_OPENSSL_STRING_value(addresses, index)) + 1;
    clt_bytes result = { .bytes = count > 0 ? malloc(count) : NULL };
    for (int index = 0; result.bytes != NULL && index < number; index++) {
        const char *address = sk_OPENSSL_STRING_value(addresses, index);
        size_t length = strlen(address) + 1;
        memcpy(result.bytes + result.count, address, length);
        result.count += length;
    }
    X509_email_free(addresses);
    ERR_clear_error();
    return result;
}

bool clt_seconds_of(const ASN1_TIME *moment, int64_t *seconds) {
    struct tm parts;
    if (ASN1_TIME_to_tm(moment, &parts) != 1) return false;
    *seconds = (int64_t)timegm(&parts);
    return true;
}

bool clt_certificate_validity(const clt_certificate *certificate, int64_t *from, int64_t *until) {
    bool known = clt_seconds_of(X509_get0_notBefore(certificate), from)
        && clt_seconds_of(X509_get0_notAfter(certificate), until);
    ERR_clear_error();
    return known;
}
