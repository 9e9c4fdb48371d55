// The steps of the schema as bytes of the program, one behind the other. Each begins with "-- schema N: …".
        .section .rodata
        .globl refhist_embedded_schema
        .hidden refhist_embedded_schema
refhist_embedded_schema:
        .incbin "001_runs.sql"
        .incbin "002_triage.sql"
        .incbin "003_histories.sql"
        .incbin "004_projects.sql"
        .globl refhist_embedded_schema_end
        .hidden refhist_embedded_schema_end
refhist_embedded_schema_end:
        .byte 0
        .section .note.GNU-stack,"",@progbits
