// The Public Suffix List as the system has it, by libpsl, which is looked for when it is asked first: a program need not
// have it.
#ifndef C_LOADING_PUBLIC_SUFFIXES_H
#define C_LOADING_PUBLIC_SUFFIXES_H

#include <stdbool.h>

// Whether a domain is a public suffix. It is in lower-case ASCII, without a dot at its end. Without a library every domain
// of one label is, and no other. The first call reads files.
bool clp_is_public_suffix(const char *domain);

// Whether there is a list.
bool clp_has_list(void);

#endif
