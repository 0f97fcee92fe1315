// Foundation's `String(contentsOf:usedEncoding:)`, which `String(contentsOf:)` calls, has no hook for URLs that are not file
// URLs: it reads the local file with the URL's path. A program that links this file calls this function instead, since a symbol
// of a program comes before those of its shared libraries. It is weak because a statically linked Foundation has the same symbol;
// a program that is linked so has to ask the linker for the second name (--wrap).
//
// The jump keeps Swift's calling convention, whatever this is for a URL: it leaves all registers alone.

#define STRING_CONTENTS "$sSS20FoundationEssentialsE10contentsOf12usedEncodingSSAA3URLVh_SSAAE0F0VztKcfC"
#define WRAPPED_STRING_CONTENTS "__wrap_$sSS20FoundationEssentialsE10contentsOf12usedEncodingSSAA3URLVh_SSAAE0F0VztKcfC"

    .text
    .p2align 4
    .weak STRING_CONTENTS
    .type STRING_CONTENTS, %function
STRING_CONTENTS:
#if defined(__x86_64__)
    jmp url_loading_string_contents@PLT
#else
    b url_loading_string_contents
#endif
    .size STRING_CONTENTS, . - STRING_CONTENTS

    .weak WRAPPED_STRING_CONTENTS
    .set WRAPPED_STRING_CONTENTS, STRING_CONTENTS

    .section .note.GNU-stack, "", %progbits
