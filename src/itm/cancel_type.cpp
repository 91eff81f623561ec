// Interposes pthread_setcanceltype of the C library (api/cancel_type.cpp).
#include "api/cancel_type.hpp"

#include "api/language.hpp"

TUTTI_CANCEL_TYPE(tutti::api::record_cancel_type)
