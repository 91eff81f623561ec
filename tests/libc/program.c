/* A typical C program: blocks that call the C library, and a function that is called through a pointer. */
#include <stdio.h>
#include <stdlib.h>

static int (*write_text)(const char*, FILE*) = fputs;

int main(int argc, char** argv) {
    FILE* f = argc > 1 ? fopen(argv[1], "w+") : NULL;
    char line[64];
    if (f == NULL) return 2;
    for (int i = 0; i != 4; ++i) {
        __transaction_atomic {
            fprintf(f, "%d: ", i);
            snprintf(line, sizeof line, "%s", i % 2 == 0 ? "kept" : "not kept");
            fputs(line, f);
            printf("\n");     /* GCC compiles a putchar, */
            fprintf(f, "\n"); /* and here an fputc */
            if (i % 2 != 0) __transaction_cancel;
        }
    }
    __transaction_relaxed { write_text("through a pointer\n", f); }
    rewind(f);
    while (fgets(line, sizeof line, f) != NULL) printf("%s", line);
    return fclose(f);
}
