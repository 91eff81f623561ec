// Many threads that write to one stream.
#pragma once

#include <cstdio>

namespace streams {

/// The number of the next line, which only transactions write.
extern long line_number;

/// Write a line "<number> <writer> <filler>" in several calls, in one block of the language or of the library.
void write_line_in_language(FILE* f, int writer);
void write_line_in_library(FILE* f, int writer);

}  // namespace streams
