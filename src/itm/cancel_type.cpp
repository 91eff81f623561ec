// Interposes the C library's function pthread_setcanceltype (api/hooks/cancel_type.cpp).
#include "api/hooks/cancel_type.hpp"

#include "api/hooks/language.hpp"

TUTTI_CANCEL_TYPE(tutti::api::record_cancel_type)
