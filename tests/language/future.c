// A runtime newer than ours, to link with.
void _ITM_future(void);
void _ITM_future(void) {}
