/* Log entries inside blocks: included where memcached declares its logger. */
#pragma once

TM_PURE bool tm_log_wanted(const logger* to, unsigned flag);
TM_PURE logger* tm_own_logger(void);
TM_PURE void tm_log(logger* to, enum log_entry_type event, const void* about, ...);
