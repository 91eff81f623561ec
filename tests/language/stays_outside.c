// A program without blocks, for tests of the linking.
#ifdef USES_THE_FUTURE
void _ITM_future(void);
#endif

int main(void) {
#ifdef USES_THE_FUTURE
    _ITM_future();
#endif
    return 0;
}
