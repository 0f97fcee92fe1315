#define _GNU_SOURCE
#include "CLoadingTLS.h"

#include "certificate.h"
#include "failure.h"
#include "openssl.h"

#include <ctype.h>
#include <dirent.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// ---- chains

clt_chain *clt_chain_new(void) { return sk_X509_new_null(); }
void clt_chain_free(clt_chain *chain) { sk_X509_pop_free(chain, X509_free); }

static X509 *certificate_from(const uint8_t *der, size_t count) {
    if (count > LONG_MAX) return NULL;
    const unsigned char *next = der;
    X509 *certificate = d2i_X509(NULL, &next, (long)count);
    if (certificate != NULL && next != der + count) { X509_free(certificate); certificate = NULL; }
    ERR_clear_error();
    return certificate;
}

bool clt_chain_append(clt_chain *chain, const uint8_t *der, size_t count) {
    X509 *certificate = certificate_from(der, count);
    if (certificate == NULL) return false;
    if (sk_X509_push(chain, certificate) > 0) return true;
    X509_free(certificate);
    return false;
}

size_t clt_chain_count(const clt_chain *chain) {
    int count = sk_X509_num(chain);
    return count > 0 ? (size_t)count : 0;
}

size_t clt_chain_certificate(const clt_chain *chain, size_t index, uint8_t *der) {
    if (index >= clt_chain_count(chain)) return 0;
    unsigned char *next = der;
    int count = i2d_X509(sk_X509_value(chain, (int)index), der == NULL ? NULL : &next);
    return count > 0 ? (size_t)count : 0;
}

// ---- roots

clt_roots *clt_roots_new(void) {
    X509_STORE *roots = X509_STORE_new();
    // OpenSSL adds a way of lookup without a lock, while other threads may go through the list. Files are added to a store that is in
    // use, so theirs has to be there before: then it is only found.
    if (roots != NULL && X509_STORE_add_lookup(roots, X509_LOOKUP_file()) != NULL) return roots;
    X509_STORE_free(roots);
    ERR_clear_error();
    return NULL;
}
void clt_roots_free(clt_roots *roots) { X509_STORE_free(roots); }

bool clt_roots_add_directory(clt_roots *roots, const char *path) {
    X509_LOOKUP *lookup = X509_STORE_add_lookup(roots, X509_LOOKUP_hash_dir());
    bool added = lookup != NULL && X509_LOOKUP_add_dir(lookup, path, X509_FILETYPE_PEM) == 1;
    ERR_clear_error();
    return added;
}

bool clt_roots_add_file(clt_roots *roots, const char *path) {
    X509_LOOKUP *lookup = X509_STORE_add_lookup(roots, X509_LOOKUP_file());
    bool added = lookup != NULL
        && (X509_LOOKUP_load_file(lookup, path, X509_FILETYPE_PEM) == 1
            || X509_LOOKUP_load_file(lookup, path, X509_FILETYPE_ASN1) == 1);
    ERR_clear_error();
    return added;
}

bool clt_roots_add_certificate(clt_roots *roots, const uint8_t *der, size_t count) {
    X509 *certificate = certificate_from(der, count);
    if (certificate == NULL) return false;
    bool added = X509_STORE_add_cert(roots, certificate) == 1;
    X509_free(certificate);
    ERR_clear_error();
    return added;
}

static bool is_hash_name(const char *name) {
    for (int index = 0; index < 8; index++) if (!isxdigit((unsigned char)name[index])) return false;
    return name[8] == '.' && isdigit((unsigned char)name[9]);
}

bool clt_is_hashed_directory(const char *path) {
    DIR *directory = opendir(path);
    if (directory == NULL) return false;
    bool found = false;
    for (struct dirent *entry; !found && (entry = readdir(directory)) != NULL;) found = is_hash_name(entry->d_name);
    closedir(directory);
    return found;
}

bool clt_is_readable_file(const char *path) { return access(path, R_OK) == 0; }

const char *clt_environment(const char *name) { return secure_getenv(name); }

// ---- evaluation

// By how many seconds an OCSP response may be too new or too old, because clocks differ.
enum { CLOCK_SKEW = 300 };

static bool is_current(const ASN1_GENERALIZEDTIME *from, const ASN1_GENERALIZEDTIME *until, int64_t time) {
    int64_t beginning, end;
    if (from == NULL || !clt_seconds_of(from, &beginning) || beginning - CLOCK_SKEW > time) return false;
    // Without the end, newer information is available all the time (RFC 6960 section 4.2.2.1).
    return until == NULL || (clt_seconds_of(until, &end) && end >= beginning && end + CLOCK_SKEW >= time);
}

// The store that a response is verified with: it has to be signed by the issuer of the leaf, or by a responder that the issuer has
// authorized (RFC 6960 section 4.2.2.2). Whether the issuer is trusted is for the evaluation of the chain to say.
static X509_STORE *issuer_of_leaf(STACK_OF(X509) *chain, int64_t time, bool is_any_time) {
    X509_STORE *issuer = X509_STORE_new();
    if (issuer == NULL) return NULL;
    unsigned long flags = X509_V_FLAG_PARTIAL_CHAIN | (is_any_time ? X509_V_FLAG_NO_CHECK_TIME : 0);
    X509_VERIFY_PARAM_set_time(X509_STORE_get0_param(issuer), (time_t)time);
    if (X509_STORE_set_flags(issuer, flags) == 1 && X509_STORE_add_cert(issuer, sk_X509_value(chain, 1)) == 1) return issuer;
    X509_STORE_free(issuer);
    return NULL;
}

// The status of the leaf of `chain` in a stapled OCSP response that is valid and current at the time of the demand. Anything that is
// wrong with the response itself counts as no response. `is_any_time`: responders' certificates may be expired.
static int revocation_status(STACK_OF(X509) *chain, const clt_demand *demand, bool is_any_time) {
    int status = V_OCSP_CERTSTATUS_UNKNOWN;
    if (sk_X509_num(chain) < 2 || demand->response_count == 0 || demand->response_count > LONG_MAX) return status;
    const unsigned char *next = demand->response;
    OCSP_RESPONSE *outer = d2i_OCSP_RESPONSE(NULL, &next, (long)demand->response_count);
    OCSP_BASICRESP *basic = outer == NULL ? NULL : OCSP_response_get1_basic(outer);
    X509_STORE *responders = basic == NULL ? NULL : issuer_of_leaf(chain, demand->time, is_any_time);
    // As for the chain, an anchor need not be self-signed.
    if (responders != NULL && OCSP_basic_verify(basic, chain, responders, OCSP_PARTIAL_CHAIN) == 1) {
        X509 *leaf = sk_X509_value(chain, 0), *issuer = sk_X509_value(chain, 1);
        for (int index = 0; status != V_OCSP_CERTSTATUS_REVOKED && index < OCSP_resp_count(basic); index++) {
            OCSP_SINGLERESP *single = OCSP_resp_get0(basic, index);
            // The response names the certificate by hashes of its own choice.
            ASN1_OBJECT *algorithm = NULL;
            OCSP_id_get0_info(NULL, &algorithm, NULL, NULL, (OCSP_CERTID *)OCSP_SINGLERESP_get0_id(single));
            const EVP_MD *digest = EVP_get_digestbyobj(algorithm);
            OCSP_CERTID *identifier = digest == NULL ? NULL : OCSP_cert_to_id(digest, leaf, issuer);
            if (identifier != NULL && OCSP_id_cmp(identifier, OCSP_SINGLERESP_get0_id(single)) == 0) {
                ASN1_GENERALIZEDTIME *from = NULL, *until = NULL;
                int said = OCSP_single_get0_status(single, NULL, NULL, &from, &until);
                if (is_current(from, until, demand->time)) status = said;
            }
            OCSP_CERTID_free(identifier);
        }
    }
    X509_STORE_free(responders);
    OCSP_BASICRESP_free(basic);
    OCSP_RESPONSE_free(outer);
    return status;
}

static bool set_parameters(X509_STORE_CTX *verification, const clt_demand *demand) {
    const char *purpose = demand->purpose == CLT_TLS_SERVER ? "ssl_server"
        : demand->purpose == CLT_TLS_CLIENT ? "ssl_client" : "default";
    if (X509_STORE_CTX_set_default(verification, purpose) != 1) return false;
    X509_VERIFY_PARAM *parameters = X509_STORE_CTX_get0_param(verification);
    X509_VERIFY_PARAM_set_time(parameters, (time_t)demand->time);
    // 112 bits: no SHA-1 signature, no RSA key below 2048 bits. Curves are looked at elsewhere.
    X509_VERIFY_PARAM_set_auth_level(parameters, 2);
    // Whatever the administrator calls a root is one, self-signed or not. Certificate policies are processed (RFC 5280
    // §6.1), which matters where an authority asks for one. OpenSSL bounds the work.
    X509_VERIFY_PARAM_set_flags(parameters, X509_V_FLAG_PARTIAL_CHAIN | X509_V_FLAG_POLICY_CHECK);
    // Any policy will do, which has to be said: no policy at all would do otherwise.
    if (X509_VERIFY_PARAM_add0_policy(parameters, OBJ_nid2obj(NID_any_policy)) != 1) return false;
    X509_VERIFY_PARAM_set_hostflags(
        parameters, X509_CHECK_FLAG_NEVER_CHECK_SUBJECT | X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    if (!demand->names_host) return true;
    if (demand->address_count > 0)
        return X509_VERIFY_PARAM_set1_ip(parameters, demand->address, demand->address_count) == 1;
    // An empty name would mean that any name will do.
    return demand->name != NULL && demand->name[0] != 0
        && X509_VERIFY_PARAM_set1_host(parameters, demand->name, 0) == 1;
}

static int verdict_on_revocation(X509_STORE_CTX *verification, const clt_demand *demand) {
    if (demand->response_count == 0 && !demand->needs_good_response) return X509_V_OK;
    int status = revocation_status(X509_STORE_CTX_get0_chain(verification), demand, false);
    if (status == V_OCSP_CERTSTATUS_REVOKED) return X509_V_ERR_CERT_REVOKED;
    return demand->needs_good_response && status != V_OCSP_CERTSTATUS_GOOD ? X509_V_ERR_UNABLE_TO_GET_CRL : X509_V_OK;
}

// Whether the leaf of an untrusted chain was revoked by its issuer. The issuer's word counts even if it is unknown or expired.
static bool is_revoked_by_issuer(X509_STORE_CTX *verification, const clt_demand *demand) {
    return revocation_status(X509_STORE_CTX_get0_chain(verification), demand, true) == V_OCSP_CERTSTATUS_REVOKED;
}

// Whether the only error is an authority's extended key usage `anyExtendedKeyUsage`, which includes TLS. OpenSSL requires
// serverAuth.
static bool is_authority_for_anything(X509_STORE_CTX *verification) {
    X509 *certificate = X509_STORE_CTX_get_current_cert(verification);
    if (X509_STORE_CTX_get_error(verification) != X509_V_ERR_INVALID_PURPOSE || certificate == NULL
        || X509_STORE_CTX_get_error_depth(verification) < 1) return false;
    uint32_t purposes = X509_get_extended_key_usage(certificate);
    return purposes != UINT32_MAX && (purposes & XKU_ANYEKU) != 0;
}

// Called by OpenSSL for each fault, and for each certificate without one. Stops at the first fault.
static int stop_at_fault(int is_sound, X509_STORE_CTX *verification) {
    if (is_sound || !is_authority_for_anything(verification)) return is_sound;
    X509_STORE_CTX_set_error(verification, X509_V_OK);
    return 1;
}

// A verification that is ready to run; NULL with the cause when it cannot be made.
static X509_STORE_CTX *verification_of(
    clt_roots *roots, const clt_chain *chain, const clt_demand *demand, clt_failure *failure) {
    *failure = (clt_failure){ .alert = -1, .reason = "no certificate to evaluate" };
    if (clt_chain_count(chain) == 0) return NULL;
    X509_STORE_CTX *verification = X509_STORE_CTX_new();
    if (verification != NULL
        && X509_STORE_CTX_init(verification, roots, sk_X509_value(chain, 0), (STACK_OF(X509) *)chain) == 1
        && set_parameters(verification, demand)) {
        return verification;
    }
    *failure = clt_failure_take("certificate evaluation failed");
    X509_STORE_CTX_free(verification);
    return NULL;
}

bool clt_evaluate(
    clt_roots *roots, const clt_chain *chain, const clt_demand *demand, clt_chain **built, clt_failure *failure) {
    ERR_clear_error();
    *built = NULL;
    X509_STORE_CTX *verification = verification_of(roots, chain, demand, failure);
    bool trusted = false;
    if (verification != NULL) {
        X509_STORE_CTX_set_verify_cb(verification, stop_at_fault);
        trusted = X509_verify_cert(verification) == 1;
        int verify = X509_STORE_CTX_get_error(verification);
        if (trusted) {
            verify = verdict_on_revocation(verification, demand);
            trusted = verify == X509_V_OK;
        }
        if (!trusted && verify == X509_V_OK) verify = X509_V_ERR_UNSPECIFIED;
        *built = X509_STORE_CTX_get1_chain(verification);
        if (trusted && *built == NULL) { trusted = false; verify = X509_V_ERR_OUT_OF_MEM; }
        failure->verify = trusted ? X509_V_OK : verify;
        failure->reason = X509_verify_cert_error_string(failure->verify);
    }
    X509_STORE_CTX_free(verification);
    ERR_clear_error();
    return trusted;
}

// ---- all faults

struct fault_list {
    clt_fault *faults;
    size_t capacity;
    size_t count;
};

// False when there is no room.
static bool note_fault(struct fault_list *list, int verify, int depth) {
    for (size_t index = 0; index < list->count; index++)
        if (list->faults[index].verify == verify && list->faults[index].depth == depth) return true;
    if (list->count == list->capacity) return false;
    list->faults[list->count++] =
        (clt_fault){ .verify = verify, .depth = depth, .reason = X509_verify_cert_error_string(verify) };
    return true;
}

// Called in place of stop_at_fault. Has OpenSSL go on.
static int note_and_go_on(int is_sound, X509_STORE_CTX *verification) {
    if (is_sound) return 1;
    if (is_authority_for_anything(verification)) {
        X509_STORE_CTX_set_error(verification, X509_V_OK);
        return 1;
    }
    struct fault_list *list = X509_STORE_CTX_get_ex_data(verification, 0);
    return note_fault(
        list, X509_STORE_CTX_get_error(verification), X509_STORE_CTX_get_error_depth(verification));
}

bool clt_find_faults(
    clt_roots *roots, const clt_chain *chain, const clt_demand *demand, clt_fault *faults, size_t capacity,
    size_t *count, clt_chain **built, clt_failure *failure) {
    ERR_clear_error();
    *built = NULL;
    *count = 0;
    X509_STORE_CTX *verification = verification_of(roots, chain, demand, failure);
    struct fault_list list = { faults, capacity, 0 };
    bool is_complete = false;
    // The first place is kept free for an application's own.
    if (verification != NULL && X509_STORE_CTX_set_ex_data(verification, 0, &list) == 1) {
        X509_STORE_CTX_set_verify_cb(verification, note_and_go_on);
        is_complete = X509_verify_cert(verification) == 1;
        int verify = X509_STORE_CTX_get_error(verification);
        if (is_complete) {
            int revocation = verdict_on_revocation(verification, demand);
            if (list.count > 0 && is_revoked_by_issuer(verification, demand)) revocation = X509_V_ERR_CERT_REVOKED;
            verify = X509_V_ERR_UNSPECIFIED;
            is_complete = revocation == X509_V_OK || note_fault(&list, revocation, 0);
        }
        if (!is_complete) {
            failure->verify = verify == X509_V_OK ? X509_V_ERR_UNSPECIFIED : verify;
            failure->reason = X509_verify_cert_error_string(failure->verify);
        }
        *built = X509_STORE_CTX_get1_chain(verification);
        *count = list.count;
    }
    X509_STORE_CTX_free(verification);
    ERR_clear_error();
    return is_complete;
}
