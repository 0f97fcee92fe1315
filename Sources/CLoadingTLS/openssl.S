// Where each of OpenSSL's functions lies. A slot leads to the function once the libraries are loaded; before, it leads
// to `load`, which has them loaded and makes the call as if nothing had been. So it works as a linker's own table for
// functions that are bound with their first call.
//
//     clt_openssl_functions: { address, name }, one for each function

#if defined(__x86_64__)

.macro function name
    .text
    .p2align 4
    .globl clt_openssl_\name
    .hidden clt_openssl_\name
    .type clt_openssl_\name, @function
clt_openssl_\name:
    .cfi_startproc
    endbr64
    jmp *.Lslot_\name(%rip)
.Lload_\name:
    endbr64
    leaq .Lslot_\name(%rip), %r11
    jmp .Lload
    .cfi_endproc
    .size clt_openssl_\name, . - clt_openssl_\name

    .section .rodata.clt_openssl, "a", @progbits
.Lname_\name:
    .asciz "\name"

    .data
.Lslot_\name:
    .quad .Lload_\name
    .quad .Lname_\name
.endm

    .text
    .p2align 4
.Lload:
    // Whatever the call's arguments are in; %rax for a variadic one. Nothing here takes a floating-point number.
    .cfi_startproc
    pushq %rdi
    pushq %rsi
    pushq %rdx
    pushq %rcx
    pushq %r8
    pushq %r9
    pushq %rax
    pushq %r11
    subq $8, %rsp
    .cfi_adjust_cfa_offset 72
    callq clt_openssl_load
    // Nothing from here to the jump changes the flags.
    testb %al, %al
    leaq 8(%rsp), %rsp
    popq %r11
    popq %rax
    popq %r9
    popq %r8
    popq %rcx
    popq %rdx
    popq %rsi
    popq %rdi
    .cfi_adjust_cfa_offset -72
    jz 1f
    jmp *(%r11)
    // Without the libraries every function gives 0 or NULL: nothing can be made, so nothing is ever used.
1:  xorl %eax, %eax
    ret
    .cfi_endproc

#elif defined(__aarch64__)

.macro function name
    .text
    .p2align 4
    .globl clt_openssl_\name
    .hidden clt_openssl_\name
    .type clt_openssl_\name, %function
clt_openssl_\name:
    .cfi_startproc
    hint #34
    adrp x16, .Lslot_\name
    add x16, x16, :lo12:.Lslot_\name
    ldr x17, [x16]
    br x17
.Lload_\name:
    // x16 still says which one.
    hint #34
    b .Lload
    .cfi_endproc
    .size clt_openssl_\name, . - clt_openssl_\name

    .section .rodata.clt_openssl, "a", %progbits
.Lname_\name:
    .asciz "\name"

    .data
.Lslot_\name:
    .quad .Lload_\name
    .quad .Lname_\name
.endm

    .text
    .p2align 4
.Lload:
    // Whatever the call's arguments are in. Nothing here takes a floating-point number.
    .cfi_startproc
    stp x29, x30, [sp, #-96]!
    .cfi_def_cfa_offset 96
    .cfi_offset x29, -96
    .cfi_offset x30, -88
    mov x29, sp
    stp x0, x1, [sp, #16]
    stp x2, x3, [sp, #32]
    stp x4, x5, [sp, #48]
    stp x6, x7, [sp, #64]
    stp x8, x16, [sp, #80]
    bl clt_openssl_load
    mov w17, w0
    ldp x0, x1, [sp, #16]
    ldp x2, x3, [sp, #32]
    ldp x4, x5, [sp, #48]
    ldp x6, x7, [sp, #64]
    ldp x8, x16, [sp, #80]
    ldp x29, x30, [sp], #96
    tbz w17, #0, 1f
    ldr x17, [x16]
    br x17
    // Without the libraries every function gives 0 or NULL: nothing can be made, so nothing is ever used.
1:  mov x0, #0
    ret
    .cfi_endproc

#else
#error "no jump to OpenSSL's functions for this architecture yet: see the two above"
#endif

    .data
    .p2align 3
    .globl clt_openssl_functions
    .hidden clt_openssl_functions
clt_openssl_functions:

#define FUNCTION(name) function name
#include "openssl_functions.h"

    .data
    .globl clt_openssl_functions_end
    .hidden clt_openssl_functions_end
clt_openssl_functions_end:

    .section .note.GNU-stack, "", %progbits
