// Where each of the libraries' functions lies. A slot is empty until `cl3_load` has filled it.
//
//     cl3_library_functions: { address, name }, one for each function

#ifdef LOADING_HTTP3

#include "versions.h"

#if defined(__x86_64__)

.macro function name
    .text
    .p2align 4
    .globl cl3_library_\name
    .hidden cl3_library_\name
    .type cl3_library_\name, @function
cl3_library_\name:
    .cfi_startproc
    endbr64
    jmp *.Lslot_\name(%rip)
    .cfi_endproc
    .size cl3_library_\name, . - cl3_library_\name

    .section .rodata.cl3_library, "a", @progbits
.Lname_\name:
    .asciz "\name"

    .data
.Lslot_\name:
    .quad 0
    .quad .Lname_\name
.endm

#elif defined(__aarch64__)

.macro function name
    .text
    .p2align 4
    .globl cl3_library_\name
    .hidden cl3_library_\name
    .type cl3_library_\name, %function
cl3_library_\name:
    .cfi_startproc
    hint #34
    adrp x16, .Lslot_\name
    add x16, x16, :lo12:.Lslot_\name
    ldr x17, [x16]
    br x17
    .cfi_endproc
    .size cl3_library_\name, . - cl3_library_\name

    .section .rodata.cl3_library, "a", %progbits
.Lname_\name:
    .asciz "\name"

    .data
.Lslot_\name:
    .quad 0
    .quad .Lname_\name
.endm

#else
#error "no jump to the libraries' functions for this architecture yet: see the two above"
#endif

    .data
    .p2align 3
    .globl cl3_library_functions
    .hidden cl3_library_functions
cl3_library_functions:

#define FUNCTION(name) function name
#include "library_functions.h"

    .data
    .globl cl3_library_functions_end
    .hidden cl3_library_functions_end
cl3_library_functions_end:

#endif

#if defined(__ELF__)
    .section .note.GNU-stack, "", %progbits
#endif
