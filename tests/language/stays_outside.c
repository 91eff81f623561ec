// A program without blocks: what matters is how it is linked.
#ifdef USES_THE_FUTURE
void _ITM_future(void);
#endif

int main(void) {
#ifdef USES_THE_FUTURE
    _ITM_future();
#endif
    return 0;
}
