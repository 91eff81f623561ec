// A future runtime to link with.
void _ITM_future(void);
void _ITM_future(void) {}
