// The page of the HTML report as bytes of this library. REFHIST_PAGE_FILE is its path, given by the build.
        .section .rodata
        .globl refhist_embedded_page
        .hidden refhist_embedded_page
refhist_embedded_page:
        .incbin REFHIST_PAGE_FILE
        .globl refhist_embedded_page_end
        .hidden refhist_embedded_page_end
refhist_embedded_page_end:
        .byte 0
        .section .note.GNU-stack,"",@progbits
