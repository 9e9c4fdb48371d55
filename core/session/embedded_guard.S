// The guard's file as bytes of this library. REFHIST_GUARD_FILE is its path, given by the build.
        .section .rodata
        .balign 16
        .globl refhist_embedded_guard
        .hidden refhist_embedded_guard
refhist_embedded_guard:
        .incbin REFHIST_GUARD_FILE
        .globl refhist_embedded_guard_end
        .hidden refhist_embedded_guard_end
refhist_embedded_guard_end:
        .byte 0
        .section .note.GNU-stack,"",@progbits
