// The agent's file as bytes of this library. REFHIST_AGENT_FILE is its path, given by the build.
        .section .rodata
        .balign 16
        .globl refhist_embedded_agent
        .hidden refhist_embedded_agent
refhist_embedded_agent:
        .incbin REFHIST_AGENT_FILE
        .globl refhist_embedded_agent_end
        .hidden refhist_embedded_agent_end
refhist_embedded_agent_end:
        .byte 0
        .section .note.GNU-stack,"",@progbits
