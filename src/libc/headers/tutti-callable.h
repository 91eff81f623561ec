/* Macros for the headers of libstdc++ whose functions are called through pointers. A transaction_callable function
   has a clone although its address is taken. It may call unsafe functions: the block then runs alone from there on.

     TUTTI_CALLABLE                          the attribute
     TUTTI_CALLABLE_IF_DECLARED(first, ...)  the attribute if the first of these arguments begins like the declaration
                                             of a parameter, nothing if it begins like an expression */
#ifndef TUTTI_CALLABLE_H
#define TUTTI_CALLABLE_H

#define TUTTI_CALLABLE __attribute__((transaction_callable))

#define TUTTI_CALLABLE_IF_DECLARED(first, ...) TUTTI_CALLABLE_CHOICE(TUTTI_BEGINS_##first)
#define TUTTI_CALLABLE_CHOICE(...) TUTTI_CALLABLE_SECOND(__VA_ARGS__, )
#define TUTTI_CALLABLE_SECOND(first, second, ...) second
#define TUTTI_BEGINS_const , TUTTI_CALLABLE,
#define TUTTI_BEGINS_void , TUTTI_CALLABLE,
#define TUTTI_BEGINS_size_t , TUTTI_CALLABLE,
#define TUTTI_BEGINS__Any_data , TUTTI_CALLABLE,

#endif
