// The Public Suffix List as the system has it, by libpsl, which is loaded on first use: a program need not
// have it.
#ifndef C_LOADING_PUBLIC_SUFFIXES_H
#define C_LOADING_PUBLIC_SUFFIXES_H

#include <stdbool.h>

// Whether a domain is in the list. It is in lower-case ASCII, without a dot at its end. Without a library there is no list.
// Waits until the list has been read.
bool clp_is_public_suffix(const char *domain);

typedef enum { CLP_IS_SUFFIX, CLP_IS_NO_SUFFIX, CLP_HAS_NO_LIST } clp_answer;

// The same of the part of the list that registries are in, without what hosters and others have entered.
clp_answer clp_registry_suffix(const char *domain);

// Reads the list, which takes files and a library. Calls after the first wait for that one.
void clp_read(void);

#endif
