/* What is compiled behind a header that stands alone: a translation unit of C declares something. */
typedef int nothing_else;
