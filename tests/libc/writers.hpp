// Many threads and one stream.
#pragma once

#include <cstdio>

namespace streams {

/// The next number of a line; written by transactions alone.
extern long line_number;

/// Writes a line "<number> <writer> <filler>" in several calls, in one block of the language.
void write_line_in_language(FILE* f, int writer);
void write_line_in_library(FILE* f, int writer);

}  // namespace streams
