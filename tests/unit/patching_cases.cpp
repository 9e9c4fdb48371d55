#include "patching_cases.h"

// Called with an int or size in rdi, memory in rsi, a count in rcx, and any flags.
asm(R"(
.macro case name, alignment=16
.balign \alignment
.globl \name
.type \name, @function
\name:
.endm
.macro done name
.size \name, .-\name
.endm

.pushsection .text.refhist_patching, "ax", @progbits

# A loop that branches to entry+2.
case case_loop_to_2
  xorl %eax, %eax
1: addl %ecx, %eax
  andl $7, %edi
  decl %edi
  jg 1b
  ret
done case_loop_to_2

# As libc's memcpy: another function enters behind the first instruction.
case case_entered_at_3
  movq %rdi, %rax
  addq $1, %rax
  addq %rcx, %rax
  ret
done case_entered_at_3
case case_enters_at_3
  movq %rsi, %rax
  xorl %edx, %edx
  jmp case_entered_at_3+3
done case_enters_at_3

# Short ones, with and without padding.
case case_one_byte
  ret
done case_one_byte
case case_four_bytes, 1
  movl %edi, %eax
  nop
  ret
done case_four_bytes
case case_behind_four_bytes, 1
  leal 3(%rdi), %eax
  ret
  .balign 16
done case_behind_four_bytes
case case_rep_ret
  rep ret
done case_rep_ret
case case_padded
  movl %edi, %eax
  ret
done case_padded
.balign 16, 0xcc

# Branches and calls among the first instructions.
case case_helper
  leal 7(%rdi), %eax
  ret
done case_helper
case case_call
  subq $8, %rsp
  call case_helper
  addq $8, %rsp
  ret
done case_call
case case_jcc
  testl %edi, %edi
  je 1f
  leal 1(%rdi), %eax
  ret
1: movl $77, %eax
  ret
done case_jcc
case case_jcc_backwards
  cmpl $3, %edi
  jb case_helper
  leal 1(%rdi), %eax
  ret
done case_jcc_backwards
case case_jrcxz
  jrcxz 1f
  leaq (%rcx,%rdi), %rax
  ret
1: movl $5, %eax
  ret
done case_jrcxz
case case_loop
  loop 1f
  movl $6, %eax
  ret
1: leaq 1(%rcx), %rax
  ret
done case_loop
case case_loope
  loope 1f
  movl $6, %eax
  ret
1: leaq 1(%rcx), %rax
  ret
done case_loope
case case_branch_inside
  jrcxz 1f
  nop
1: leaq (%rcx,%rdi), %rax
  ret
done case_branch_inside
case case_rip
  movl case_number(%rip), %eax
  addl %edi, %eax
  ret
done case_rip
case case_rip_immediate
  cmpl $1234, case_number(%rip)
  sete %al
  ret
done case_rip_immediate
case case_tail
  jmp case_helper
done case_tail
case case_tail_behind
  addl $2, %edi
  jmp case_helper
done case_tail_behind
case case_lock
  lock decl (%rsi)
  je 1f
  movl $1, %eax
  ret
1: xorl %eax, %eax
  ret
done case_lock
case case_pic
  call 1f
1: popq %rax
  subq %rax, %rax
  ret
done case_pic
case case_endbr
  endbr64
  leal 9(%rdi), %eax
  movl %eax, %edx
  ret
done case_endbr
case case_endbr_short
  endbr64
  ret
done case_endbr_short

# Jump tables: one leads into the first bytes, one does not.
case case_table_inside
  addl $1, %edi
.Lrefhist_inside: addl $2, %edi
  cmpl $2, %edi
  ja .Lrefhist_behind
  leaq case_table_1(%rip), %rdx
  movslq (%rdx,%rdi,4), %rax
  addq %rdx, %rax
  jmp *%rax
.Lrefhist_behind: movl %edi, %eax
  ret
done case_table_inside
case case_table
  movl %edi, %eax
  andl $1, %eax
  leaq case_table_2(%rip), %rdx
  movslq (%rdx,%rax,4), %rax
  addq %rdx, %rax
  jmp *%rax
.Lrefhist_even: movl $40, %eax
  ret
.Lrefhist_odd: movl $41, %eax
  ret
done case_table
case case_computed
  movl %edi, %eax
  andl $1, %eax
  leaq 5f(%rip), %rdx
  leaq (%rdx,%rax,4), %rax
  jmp *%rax
5: xorl %eax, %eax
  ret
  nop
  movl $1, %eax
  ret
done case_computed

# A .cold part that comes back into the first bytes.
case case_cold
  testl %edi, %edi
case_cold_back:
  nop
  jl case_cold_cold
  leal 2(%rdi), %eax
  ret
done case_cold

# Live flags and a live red zone.
case case_flags
  adcq $0, %rdi
  movq %rdi, %rax
  ret
done case_flags
case case_flags_later
  cmpl $5, %edi
  pushq %rbx
  movq %rcx, %rbx
  leaq 4(%rbx), %rax
  popq %rbx
  jae 1f
  negq %rax
1: ret
done case_flags_later
case case_red_zone
  movq %rdi, -8(%rsp)
  movq %rcx, -128(%rsp)
  movq -8(%rsp), %rax
  addq -128(%rsp), %rax
  ret
done case_red_zone
case case_frame
  pushq %rbp
  movq %rsp, %rbp
  pushq %r12
  subq $24, %rsp
  movq %rdi, -24(%rbp)
  movq %rcx, %r12
  movq -24(%rbp), %rax
  addq %r12, %rax
  addq $24, %rsp
  popq %r12
  popq %rbp
  ret
done case_frame
.popsection

.pushsection .text.unlikely.refhist_patching, "ax", @progbits
case case_cold_cold
  xorl %edi, %edi
  jmp case_cold_back
done case_cold_cold
.popsection

.pushsection .rodata
.balign 4
case_table_1:
  .long .Lrefhist_inside-case_table_1, .Lrefhist_behind-case_table_1, .Lrefhist_behind-case_table_1
case_table_2:
  .long .Lrefhist_even-case_table_2, .Lrefhist_odd-case_table_2
case_number:
  .long 1234
.popsection
)");

namespace refhist_test {

const PatchingCase kPatchingCases[] = {
    {"case_loop_to_2", "a branch at"},
    {"case_entered_at_3", "a branch at"},
    {"case_enters_at_3", ""},
    {"case_one_byte", "too short"},
    {"case_four_bytes", "too short"},
    {"case_behind_four_bytes", ""},
    {"case_rep_ret", ""},
    {"case_padded", ""},
    {"case_call", ""},
    {"case_jcc", ""},
    {"case_jcc_backwards", ""},
    {"case_jrcxz", ""},
    {"case_loop", ""},
    {"case_loope", ""},
    {"case_branch_inside", ""},
    {"case_rip", ""},
    {"case_rip_immediate", ""},
    {"case_tail", ""},
    {"case_tail_behind", ""},
    {"case_lock", ""},
    {"case_pic", "the call at"},
    {"case_endbr", ""},
    {"case_endbr_short", ""},
    {"case_table_inside", "a jump table"},
    {"case_table", ""},
    {"case_computed", "the indirect jump"},
    {"case_cold", "a branch at"},
    {"case_flags", ""},
    {"case_flags_later", ""},
    {"case_red_zone", ""},
    {"case_frame", ""},
};
const unsigned kPatchingCaseCount = sizeof kPatchingCases / sizeof kPatchingCases[0];

}  // namespace refhist_test
