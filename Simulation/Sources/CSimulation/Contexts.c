// Changes from one thread to another in a process without the real kernel: it would take more time than all else that the
// simulation does. Each simulated thread is one of the C library, with its own stack and thread-local variables; only where it runs changes.
// x86-64, as in all of the simulation.
#include "Contexts.h"

// The instructions for the base of thread-local variables need a processor and a kernel of the last ten years (FSGSBASE).
// Both functions leave the same on the stack.
__asm__(
    ".text\n"
    ".macro SAVE_REGISTERS\n"
    "    pushq %rbp\n"
    "    pushq %rbx\n"
    "    pushq %r12\n"
    "    pushq %r13\n"
    "    pushq %r14\n"
    "    pushq %r15\n"
    "    subq $8, %rsp\n"
    "    stmxcsr (%rsp)\n"
    "    fnstcw 4(%rsp)\n"
    ".endm\n"
    ".macro RESTORE_REGISTERS\n"
    "    ldmxcsr (%rsp)\n"
    "    fldcw 4(%rsp)\n"
    "    addq $8, %rsp\n"
    "    popq %r15\n"
    "    popq %r14\n"
    "    popq %r13\n"
    "    popq %r12\n"
    "    popq %rbx\n"
    "    popq %rbp\n"
    ".endm\n"

    ".globl context_switch\n"
    ".type context_switch, @function\n"
    "context_switch:\n"
    "    SAVE_REGISTERS\n"
    "    movq %rsp, (%rdi)\n"
    "    rdfsbase %rax\n"
    "    movq %rax, 8(%rdi)\n"
    "    movq 8(%rsi), %rax\n"
    "    wrfsbase %rax\n"
    "    movq (%rsi), %rsp\n"
    "    RESTORE_REGISTERS\n"
    "    ret\n"
    ".size context_switch, .-context_switch\n"

    ".globl context_leave\n"
    ".type context_leave, @function\n"
    "context_leave:\n"
    "    SAVE_REGISTERS\n"
    "    movq %rsp, (%rdi)\n"
    "    rdfsbase %rax\n"
    "    movq %rax, 8(%rdi)\n"
    "    movq %rdi, %rbx\n"
    "    movq %rsi, %rbp\n"
    "    movq %rdx, %r12\n"
    // From here on the stack is another's. futex(is_left, FUTEX_WAKE_PRIVATE, 1)
    "    movl $1, %eax\n"
    "    xchgl %eax, (%rbp)\n"
    "    movl $202, %eax\n"
    "    movq %rbp, %rdi\n"
    "    movl $129, %esi\n"
    "    movl $1, %edx\n"
    "    syscall\n"
    // futex(may_return, FUTEX_WAIT_PRIVATE, 0, NULL)
    "1:  cmpl $0, (%r12)\n"
    "    jne 2f\n"
    "    movl $202, %eax\n"
    "    movq %r12, %rdi\n"
    "    movl $128, %esi\n"
    "    xorl %edx, %edx\n"
    "    xorl %r10d, %r10d\n"
    "    syscall\n"
    "    jmp 1b\n"
    "2:  movq (%rbx), %rsp\n"
    "    RESTORE_REGISTERS\n"
    "    ret\n"
    ".size context_leave, .-context_leave\n");

struct context context_make(void *stack, uintptr_t size, void (*start)(void)) {
    uintptr_t local;
    uint32_t mxcsr;
    uint16_t x87;
    __asm__("rdfsbase %0" : "=r"(local));
    __asm__("stmxcsr %0" : "=m"(mxcsr));
    __asm__("fnstcw %0" : "=m"(x87));
    // As if `start` had been called: the stack is aligned to 16 before the address of the return.
    uintptr_t *top = (uintptr_t *)(((uintptr_t)stack + size) / 16 * 16);
    *--top = 0;
    *--top = (uintptr_t)start;
    for (int i = 0; i < 6; i++) *--top = 0;
    *--top = mxcsr | (uintptr_t)x87 << 32;
    return (struct context){ top, local };
}
