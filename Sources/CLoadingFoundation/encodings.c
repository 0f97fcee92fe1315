// Functions that Foundation on Linux has without declaring them. Its `NSString` is a Core Foundation string.
#include "CLoadingFoundation.h"

extern uint32_t CFStringConvertIANACharSetNameToEncoding(const void *name);
extern unsigned long CFStringConvertEncodingToNSStringEncoding(uint32_t encoding);

uint32_t clf_string_encoding(const void *name) { return CFStringConvertIANACharSetNameToEncoding(name); }
unsigned long clf_foundation_encoding(uint32_t encoding) { return CFStringConvertEncodingToNSStringEncoding(encoding); }
