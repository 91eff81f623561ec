/* Compiled after a header that must compile alone: a C translation unit must declare something. */
typedef int nothing_else;
