// Names by which Foundation looks up the classes of URLLoading. The Swift runtime finds them in `records.S`.
#ifndef C_LOADING_FOUNDATION_H
#define C_LOADING_FOUNDATION_H

#include <stdint.h>

#pragma clang assume_nonnull begin

/// What stands for a class in archives: the same class under the name of the toolchain's module, from which
/// `NSStringFromClass` makes Apple's. A class that is not to be archived, or is the program's own, stands for itself; so does
/// each in a process that has the toolchain's module too.
///
/// It has no instances, and is good for asking its name, its superclass and its class methods.
const void *clf_class_for_archives(const void *type);

/// Core Foundation's number of the text encoding with an IANA name, an `NSString`.
uint32_t clf_string_encoding(const void *name);

/// Foundation's number of the text encoding with Core Foundation's number.
unsigned long clf_foundation_encoding(uint32_t encoding);

#pragma clang assume_nonnull end

#endif
