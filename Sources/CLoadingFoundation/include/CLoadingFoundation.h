// Names by which Foundation looks up the classes of URLLoading. The Swift runtime finds them in `records.S`.
#ifndef C_LOADING_FOUNDATION_H
#define C_LOADING_FOUNDATION_H

#pragma clang assume_nonnull begin

/// What stands for a class in archives: the same class under the name of the toolchain's module, from which
/// `NSStringFromClass` makes Apple's. A class that is not to be archived, or is the program's own, stands for itself; so does
/// each in a process that has the toolchain's module too.
///
/// It has no instances, and is good for asking its name, its superclass and its class methods.
const void *clf_class_for_archives(const void *type);

#pragma clang assume_nonnull end

#endif
